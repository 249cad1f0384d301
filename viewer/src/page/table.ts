// SPDX-License-Identifier: Apache-2.0
// Tables and bars.
import { make, makeSvg } from "./dom";
import { counted } from "./format";

export interface Column {
    title: string;
    number?: boolean;
}

type Child = Node | string;

export function cell(...children: readonly Child[]): HTMLElement {
    return make("td", {}, ...children);
}

export function number(...children: readonly Child[]): HTMLElement {
    return make("td", { class: "number" }, ...children);
}

export function tableHead(columns: readonly Column[]): HTMLElement {
    const titles = columns.map((column) =>
        make("th", { scope: "col", ...(column.number ? { class: "number" } : {}) }, column.title),
    );
    return make("thead", {}, make("tr", {}, ...titles));
}

// A table that scrolls horizontally inside a box, which must be focusable.
export function scrollingTable(caption: string, columns: readonly Column[], rows: readonly HTMLElement[]): HTMLElement {
    const table = make("table", {}, make("caption", {}, caption), tableHead(columns), make("tbody", {}, ...rows));
    return make("div", { class: "scroll", role: "region", tabindex: 0, "aria-label": caption }, table);
}

// "and 3 more steps"; nothing if `count` is 0.
export function more(count: number, noun: string, rest = ""): HTMLElement[] {
    return count > 0 ? [make("p", { class: "more" }, `and ${counted(count, noun)}${rest}`)] : [];
}

interface Part {
    style: string;
    value: number;
}

// A bar that is divided into parts; the values are parts of `whole`.
export function bar(parts: readonly Part[], whole: number, style = "bar"): SVGElement {
    const svg = makeSvg("svg", { class: style, viewBox: "0 0 1000 10", preserveAspectRatio: "none", "aria-hidden": "true" });
    const add = (kind: string, x: number, width: number): void =>
        svg.append(makeSvg("rect", { class: kind, x, y: 0, width, height: 10 }));
    add("room", 0, 1000);
    let start = 0;
    for (const part of parts) {
        const width = whole > 0 ? (1000 * Math.max(part.value, 0)) / whole : 0;
        add(part.style, start, width);
        start += width;
    }
    return svg;
}

// A box with a heading.
export function panel(id: string, title: string, ...contents: readonly Child[]): HTMLElement {
    const heading = make("header", {}, make("h2", { id: `${id}-title` }, title));
    return make("section", { id, class: "panel", "aria-labelledby": `${id}-title` }, heading, ...contents);
}
