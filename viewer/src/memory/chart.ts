// SPDX-License-Identifier: Apache-2.0
// Draws a stack as areas over the steps. Points are selected with the pointer or the arrow keys.
import { make, makeSvg } from "../page/dom";
import { formatCount } from "../page/format";
import { byteAxis } from "../timeline/byte_axis";
import { moved, nearest } from "../timeline/pointing";
import { place, stepTicks, type Scale } from "../timeline/scale";
import { isExact } from "./knots";
import { totalOf, type Point, type Stack } from "./steps";

const HEIGHT = 230;
const TOP = 12;
const BOTTOM = 26; // the axis of steps
const LEFT = 74; // the byte axis
const RIGHT = 14;

interface Frame {
    x: Scale;
    y: Scale;
}

function axes({ x, y }: Frame): SVGGElement {
    const group = makeSvg("g", { class: "axes", "aria-hidden": "true" });
    group.append(...byteAxis(x, y, LEFT));
    for (const tick of stepTicks(x.from, x.to, Math.max(2, (x.end - x.start) / 90))) {
        const at = Math.min(place(x, tick), x.end - 4 * String(tick).length);
        group.append(makeSvg("text", { x: at, y: HEIGHT - 6, "text-anchor": "middle" }, formatCount(tick)));
    }
    return group;
}

function sumBelow(point: Point, layer: number): number {
    return point.sizes.slice(0, layer).reduce((sum, bytes) => sum + bytes, 0);
}

function area(stack: Stack, layer: number, { x, y }: Frame): SVGPathElement {
    const corner = (point: Point, upTo: number): string =>
        `${place(x, point.step).toFixed(1)} ${place(y, sumBelow(point, upTo)).toFixed(1)}`;
    const top = stack.points.map((point) => corner(point, layer + 1));
    const bottom = stack.points.map((point) => corner(point, layer)).reverse();
    return makeSvg("path", {
        class: `layer layer-${stack.layers[layer]?.kind ?? ""}`,
        d: `M${[...top, ...bottom].join("L")}Z`,
    });
}

// Covers the steps before the first and after the last measurement of the categories.
function unknown(stack: Stack, { x, y }: Frame): SVGRectElement[] {
    const edges = stack.points.flatMap(({ measured }) =>
        measured !== undefined && measured.before === undefined && measured.after !== undefined
            ? [[x.from, measured.after] as const]
            : measured?.before !== undefined && measured.after === undefined
              ? [[measured.before, x.to] as const]
              : [],
    );
    const ranges = new Map(edges.map((edge) => [String(edge), edge]));
    return [...ranges.values()].map(([from, to]) => {
        const [left, right] = [place(x, from), place(x, to)];
        return makeSvg("rect", { class: "unknown", x: left, y: y.end, width: right - left, height: y.start - y.end });
    });
}

function dots(stack: Stack, { x, y }: Frame): SVGCircleElement[] {
    const exact = stack.points.filter(({ measured }) => measured !== undefined && isExact(measured));
    const points = new Map(exact.map((point) => [point.step, point]));
    return [...points.values()].map((point) =>
        makeSvg("circle", { class: "exact", cx: place(x, point.step), cy: place(y, totalOf(point)), r: 3 }),
    );
}

// The most that torch had allocated at one time, which is often between two steps. The largest so far,
// so that the line never falls unless the program resets it.
function peak(stack: Stack, { x, y }: Frame): SVGPathElement[] {
    const corners = stack.points.flatMap(({ step, peak }) =>
        peak === undefined ? [] : [`${place(x, step).toFixed(1)} ${place(y, peak).toFixed(1)}`],
    );
    return corners.length === 0 ? [] : [makeSvg("path", { class: "peak", d: `M${corners.join("L")}` })];
}

export class StackChart {
    readonly element = make("div", { class: "chart stack", tabindex: 0, role: "slider", "aria-label": "Steps" });
    #stack: Stack | undefined;
    #frame: Frame | undefined;
    #at = -1; // index of the selected point

    // `describe` shows and returns a description of a point, or of the stack.
    constructor(private readonly describe: (point: Point | undefined) => string) {
        new ResizeObserver(() => this.#draw()).observe(this.element);
        this.element.addEventListener("pointermove", (event) => this.#pointAt(this.#nearest(event)));
        this.element.addEventListener("pointerleave", () => this.#pointAt(-1));
        this.element.addEventListener("blur", () => this.#pointAt(-1));
        this.element.addEventListener("keydown", (event) => this.#press(event));
    }

    show(stack: Stack): void {
        this.#stack = stack;
        this.#at = -1;
        this.element.setAttribute("aria-valuemin", "1");
        this.element.setAttribute("aria-valuemax", String(stack.points.length));
        this.element.setAttribute("aria-valuenow", "1");
        this.element.setAttribute("aria-valuetext", this.describe(undefined));
        this.#draw();
    }

    #draw(): void {
        const stack = this.#stack;
        const width = this.element.clientWidth;
        if (stack === undefined || width < LEFT + RIGHT + 50) {
            return;
        }
        const steps = stack.points.map(({ step }) => step);
        const frame: Frame = {
            x: { from: Math.min(...steps), to: Math.max(...steps), start: LEFT, end: width - RIGHT },
            y: { from: 0, to: Math.max(1, ...stack.points.map((point) => Math.max(totalOf(point), point.peak ?? 0))), start: HEIGHT - BOTTOM, end: TOP },
        };
        this.#frame = frame;
        this.element.replaceChildren(
            makeSvg(
                "svg",
                { width, height: HEIGHT, "aria-hidden": "true" },
                ...stack.layers.map((_, layer) => area(stack, layer, frame)),
                ...unknown(stack, frame),
                axes(frame),
                ...peak(stack, frame),
                ...dots(stack, frame),
                makeSvg("line", { class: "pointer", y1: TOP, y2: HEIGHT - BOTTOM, visibility: "hidden" }),
            ),
        );
        this.#mark();
    }

    #mark(): void {
        const point = this.#stack?.points[this.#at];
        const line = this.element.querySelector(".pointer");
        line?.setAttribute("visibility", point === undefined ? "hidden" : "visible");
        if (point !== undefined && this.#frame !== undefined) {
            const at = String(place(this.#frame.x, point.step));
            line?.setAttribute("x1", at);
            line?.setAttribute("x2", at);
        }
    }

    #nearest(event: MouseEvent): number {
        const frame = this.#frame;
        if (this.#stack === undefined || frame === undefined) {
            return -1;
        }
        const values = this.#stack.points.map((each) => each.step);
        return nearest(event, this.element, frame.x, values);
    }

    #pointAt(at: number): void {
        if (at === this.#at) {
            return;
        }
        this.#at = at;
        const text = this.describe(this.#stack?.points[at]);
        this.element.setAttribute("aria-valuenow", String(Math.max(0, at) + 1));
        this.element.setAttribute("aria-valuetext", text);
        this.#mark();
    }

    #press(event: KeyboardEvent): void {
        const last = (this.#stack?.points.length ?? 0) - 1;
        const to = moved(event.key, this.#at, last);
        if (to !== undefined) {
            event.preventDefault();
            this.#pointAt(to);
        }
    }
}
