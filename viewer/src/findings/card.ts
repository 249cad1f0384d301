// SPDX-License-Identifier: Apache-2.0
// The card of a finding.
import { make } from "../page/dom";
import { counted, formatBytes, formatDuration } from "../page/format";
import { cleanText, prose, shownName, truncateMiddle, withBreaks } from "../page/text";
import type { Finding } from "../report/schema";
import type { FindingTexts, PictureTexts, Texts } from "../report/texts";
import { cycleDetails, ownerTable, patternDetails, signatureLine, variantTable, whenSection } from "./details";
import { alternatives, cutSection } from "./references";

const LONGEST_TITLE = 600;

// Size, number of cycles and the like; the status and the pattern are marked.
function facts(finding: Finding, texts: FindingTexts): HTMLElement {
    const { shared_bytes, dead_for_at_most, status, pattern, by_process } = finding;
    const own = finding.retained_bytes > 0 ? `+ ${formatBytes(shared_bytes)} ` : "";
    const processes = by_process.process.length;
    const shown: (readonly [string, string])[] = [
        ["bytes", texts.size],
        ["", counted(finding.occurrences, "cycle")],
        ["", `in ${texts.occasions}`],
        ["", dead_for_at_most > 0 ? `unreachable for up to ${formatDuration(dead_for_at_most)}` : ""],
        ["", shared_bytes > 0 ? `${own}${texts.sharing}: freed once all are fixed` : ""],
        ["", processes > 1 ? `in ${counted(processes, "process", "processes")}` : ""],
        ["", texts.unowned],
        ["pill status", texts.collected],
        ["pill status", status === "new" ? "" : status],
        ["pill", pattern === "unknown" ? "" : shownName(pattern)],
    ];
    const made = shown
        .filter(([, text]) => text !== "")
        .map(([style, text]) => make("span", style === "" ? {} : { class: style }, text));
    return make("p", { class: "facts" }, ...made);
}

export function cardHeading(finding: Finding, number: number, texts: FindingTexts): HTMLElement {
    const title = withBreaks(truncateMiddle(cleanText(finding.title), LONGEST_TITLE));
    const made = make(
        "header",
        {},
        make(
            "h2",
            { id: `h${number}` },
            make("span", { class: "rank" }, String(number)),
            " ",
            make("span", { class: "title" }, ...title),
        ),
        facts(finding, texts),
        make("p", { class: "headline" }, ...prose(texts.headline)),
    );
    if (finding.status_reason !== "") {
        made.append(make("p", { class: "status-reason" }, `Status ${finding.status}: `, ...prose(finding.status_reason)));
    }
    return made;
}

// Text stays legible: a picture that would be scaled down more scrolls in its frame.
const LEAST_SCALE = 0.7;
const LEAST_WIDTH = 520; // pixels

// The markup of the picture is the only markup in the report's data. The C++ code that draws it escapes all text.
function drawing({ svg, note }: PictureTexts): Element {
    const parsed = svg === "" ? null : new DOMParser().parseFromString(svg, "text/html").querySelector("svg");
    if (parsed !== null) {
        const width = Number(parsed.getAttribute("width"));
        parsed.style.minWidth = `${Math.min(width, Math.max(LEAST_WIDTH, LEAST_SCALE * width))}px`;
    }
    return parsed ?? make("p", { class: "quiet" }, note);
}

function figure(number: number, finding: Finding, picture: PictureTexts): HTMLElement {
    const frame = make(
        "div",
        { class: "frame", role: "region", tabindex: 0, "aria-label": `Diagram of cycle ${number}` },
        drawing(picture),
    );
    const key = (kind: string, text: string): HTMLElement => make("span", { class: `key ${kind}` }, text);
    const caption = make("figcaption", {}, key("cycle", "the cycle"), " ", key("cut", "cut here"), " ");
    caption.append(key("owner", "owners of device memory"));
    if (finding.picture.items.some((item) => item.hides_references === true)) {
        caption.append(" ", key("hides", "references hidden from the collector"));
    }
    if (picture.undrawn > 0) {
        caption.append(make("span", { class: "more" }, `and ${counted(picture.undrawn, "more object")} not drawn`));
    }
    return make("figure", { class: "picture" }, frame, caption);
}

// What follows the heading.
export function cardContents(finding: Finding, number: number, texts: FindingTexts, patterns: Texts["patterns"]): HTMLElement[] {
    const pattern = Object.hasOwn(patterns, finding.pattern) ? patterns[finding.pattern] : undefined;
    return [
        make(
            "div",
            { class: texts.picture.wide ? "columns wide" : "columns" },
            make("div", { class: "advice" }, cutSection(finding, texts), ...alternatives(finding, texts)),
            figure(number, finding, texts.picture),
        ),
        ...variantTable(finding),
        ...ownerTable(finding),
        whenSection(finding),
        ...patternDetails(pattern),
        ...cycleDetails(finding, texts),
        signatureLine(finding),
    ];
}
