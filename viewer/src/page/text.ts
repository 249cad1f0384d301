// SPDX-License-Identifier: Apache-2.0
// Shows text from the watched program, which is untrusted. Like src/base/text.cpp.
import { make } from "./dom";

const LONGEST_NAME = 200;
const LONGEST_SENTENCE = 600;

// Characters that are invisible or change how adjacent text is displayed, and lone surrogates.
const HIDDEN = /[\0-\x1f\x7f-\x9f\xad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufdd0-\ufdef\ufeff\uffa0\ufff9-\ufffb\ufffe\uffff\u{e0000}-\u{e0fff}]/gu;

// One line of visible text.
export function cleanText(text: string): string {
    return text.replace(/[\t\r\n]/g, " ").replace(HIDDEN, "\ufffd");
}

// Puts "..." at the end of a longer text.
export function truncateEnd(text: string, most: number): string {
    const characters = text.length > most ? Array.from(text) : [];
    return characters.length > most ? `${characters.slice(0, most - 3).join("")}...` : text;
}

// Puts "..." in the middle, because both ends of a path or a qualified name matter.
export function truncateMiddle(text: string, most: number): string {
    const characters = text.length > most ? Array.from(text) : [];
    if (characters.length <= most) {
        return text;
    }
    const tail = (most - 3) >> 1;
    return `${characters.slice(0, most - 3 - tail).join("")}...${characters.slice(-tail).join("")}`;
}

export function shownName(name: string): string {
    return truncateMiddle(cleanText(name), LONGEST_NAME);
}

// Allows line breaks after the separators of a dotted name or path.
export function withBreaks(name: string): (Node | string)[] {
    const parts = name.match(/.[^./:]*[./:]?/gsu) ?? [];
    return parts.flatMap((part, i) => (i === 0 ? [part] : [make("wbr"), part]));
}

export function code(name: string, style = ""): HTMLElement {
    return make("code", style === "" ? {} : { class: style }, ...withBreaks(shownName(name)));
}

// A sentence. Text between backticks is shown in <code>; a lone backtick is text.
export function prose(sentence: string): (Node | string)[] {
    const parts = truncateEnd(cleanText(sentence), LONGEST_SENTENCE).split(/`([^`]*)`/);
    return parts.map((part, i) => (i % 2 === 1 ? make("code", {}, part) : part));
}
