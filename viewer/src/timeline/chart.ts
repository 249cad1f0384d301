// SPDX-License-Identifier: Apache-2.0
// Draws one series. Collections are selected with the pointer or the arrow keys.
import { make, makeSvg } from "../page/dom";
import { byteAxis } from "./byte_axis";
import { area, band, outline, stretchesOf } from "./curve";
import { drawMarks, mostSteps, TEXT_HEIGHT, type Mark } from "./marks";
import { moved, nearest } from "./pointing";
import { byteRange, place, timeTicks, timeTickText, type Scale } from "./scale";
import type { Series, Tooth } from "./series";

const HEIGHT = 210;
const TOP = 12;
const BOTTOM = 26; // the time axis
const LEFT = 74; // the byte axis
const RIGHT = 14;
const CHARACTER = 7; // pixels of a label

interface Actions {
    // Returns a description of the selected collection, or of the series.
    point: (tooth: Tooth | undefined) => string;
    pick: (tooth: Tooth) => void;
    marks: (most: number) => Mark[];
}

interface Frame {
    x: Scale;
    y: Scale;
}

function axes({ x, y }: Frame): SVGGElement {
    const group = makeSvg("g", { class: "axes", "aria-hidden": "true" });
    group.append(...byteAxis(x, y, LEFT));
    for (const tick of timeTicks(x.from, x.to, Math.max(2, (x.end - x.start) / 110))) {
        const text = timeTickText(tick);
        const at = Math.min(place(x, tick), x.end - (text.length * CHARACTER) / 2);
        group.append(makeSvg("text", { x: at, y: HEIGHT - 6, "text-anchor": "middle" }, text));
    }
    return group;
}

// The byte range that the collection freed or the scan found.
function span(tooth: Tooth, series: Series): [number, number] {
    const bottom = series.measured ? tooth.after : 0;
    return [bottom + tooth.released, bottom];
}

// The freed bytes over the time they were unreachable. Visible only for the selected collection.
function waitArea(tooth: Tooth, series: Series, { x, y }: Frame): SVGRectElement {
    const [top, bottom] = span(tooth, series).map((bytes) => place(y, bytes)) as [number, number];
    const from = place(x, tooth.at - tooth.waited);
    return makeSvg("rect", {
        class: "wait",
        "data-collection": tooth.collection,
        x: from,
        y: top,
        width: place(x, tooth.at) - from,
        height: Math.max(1, bottom - top),
    });
}

function drop(tooth: Tooth, series: Series, { x, y }: Frame): SVGLineElement {
    const at = place(x, tooth.at);
    const [top, bottom] = span(tooth, series);
    return makeSvg("line", {
        class: tooth.scan ? "drop found" : "drop",
        "data-collection": tooth.collection,
        x1: at,
        x2: at,
        y1: place(y, top),
        y2: Math.max(place(y, bottom), place(y, top) + 1),
    });
}

export class Chart {
    readonly element = make("div", {
        class: "chart",
        tabindex: 0,
        role: "slider",
        "aria-label": "Collections",
    });
    readonly #actions: Actions;
    #series: Series | undefined;
    #elapsed = 0;
    #at = -1; // index of the selected tooth
    #marked: number | undefined;
    #frame: Frame | undefined;

    constructor(actions: Actions) {
        this.#actions = actions;
        new ResizeObserver(() => this.#draw()).observe(this.element);
        this.element.addEventListener("pointermove", (event) => this.#pointAt(this.#nearest(event)));
        this.element.addEventListener("pointerleave", () => this.#pointAt(-1));
        this.element.addEventListener("blur", () => this.#pointAt(-1));
        this.element.addEventListener("click", (event) => this.#pick(this.#nearest(event)));
        this.element.addEventListener("keydown", (event) => this.#press(event));
    }

    show(series: Series, elapsed: number): void {
        this.#series = series;
        this.#elapsed = elapsed;
        this.#at = -1;
        this.element.setAttribute("aria-valuemin", "1");
        this.element.setAttribute("aria-valuemax", String(series.teeth.length));
        this.element.setAttribute("aria-valuenow", "1");
        this.element.setAttribute("aria-valuetext", this.#actions.point(undefined));
        this.#draw();
    }

    // Marks the collection whose findings are shown.
    mark(collection: number | undefined): void {
        this.#marked = collection;
        this.#highlight();
    }

    // The lower end of the byte axis.
    get floor(): number {
        return this.#range()[0];
    }

    #range(): [number, number] {
        const teeth = this.#series?.teeth ?? [];
        const { lowest: lows = [], highest: highs = [] } = this.#series?.samples ?? {};
        const lowest = this.#series?.measured ? Math.min(...lows, ...teeth.map((tooth) => tooth.after)) : 0;
        return byteRange(lowest, Math.max(1, ...highs, ...teeth.map((t) => Math.max(t.before, t.after))));
    }

    #draw(): void {
        const series = this.#series;
        const width = this.element.clientWidth;
        if (series === undefined || width < LEFT + RIGHT + 50) {
            return;
        }
        const [from, to] = this.#range();
        const until = Math.max(this.#elapsed, series.teeth.at(-1)?.at ?? 0, series.samples?.times.at(-1) ?? 0);
        const x = { from: 0, to: until, start: LEFT, end: width - RIGHT };
        const marks = this.#actions.marks(mostSteps(x));
        const top = marks.length > 0 ? TEXT_HEIGHT + 4 : TOP;
        const y = { from, to, start: HEIGHT - BOTTOM, end: top };
        const frame = { x, y };
        this.#frame = frame;
        const svg = makeSvg("svg", { width, height: HEIGHT, "aria-hidden": "true" }, axes(frame));
        if (series.measured) {
            const stretches = stretchesOf(series);
            svg.append(
                makeSvg("path", { class: "area", d: area(stretches, x, y) }),
                makeSvg("path", { class: "band", d: band(stretches, x, y) }),
                makeSvg("path", { class: "used", d: outline(stretches, x, y) }),
            );
        }
        svg.append(drawMarks(marks, x, y));
        svg.append(...series.teeth.map((tooth) => waitArea(tooth, series, frame)));
        svg.append(...series.teeth.map((tooth) => drop(tooth, series, frame)));
        this.element.replaceChildren(svg);
        this.#highlight();
    }

    #highlight(): void {
        const at = this.#series?.teeth[this.#at]?.collection;
        for (const mark of this.element.querySelectorAll<SVGElement>(".drop, .wait")) {
            const collection = Number(mark.dataset.collection);
            mark.classList.toggle("pointed", collection === at);
            mark.classList.toggle("marked", collection === this.#marked);
        }
    }

    #nearest(event: MouseEvent): number {
        const frame = this.#frame;
        if (this.#series === undefined || frame === undefined) {
            return -1;
        }
        const values = this.#series.teeth.map((each) => each.at);
        return nearest(event, this.element, frame.x, values);
    }

    #pointAt(at: number): void {
        if (at === this.#at) {
            return;
        }
        this.#at = at;
        const text = this.#actions.point(this.#series?.teeth[at]);
        this.element.setAttribute("aria-valuenow", String(Math.max(0, at) + 1));
        this.element.setAttribute("aria-valuetext", text);
        this.#highlight();
    }

    #pick(at: number): void {
        const tooth = this.#series?.teeth[at];
        if (tooth !== undefined) {
            this.#actions.pick(tooth);
        }
    }

    #press(event: KeyboardEvent): void {
        const last = (this.#series?.teeth.length ?? 0) - 1;
        const to = moved(event.key, this.#at, last);
        if (to !== undefined) {
            event.preventDefault();
            this.#pointAt(to);
        } else if (event.key === "Enter" || event.key === " ") {
            event.preventDefault();
            this.#pick(this.#at);
        }
    }
}
