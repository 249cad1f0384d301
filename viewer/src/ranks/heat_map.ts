// SPDX-License-Identifier: Apache-2.0
// Draws a grid of processes and steps. A cell is selected with the pointer or the arrow keys. It is a canvas, because a merged
// report may have 100,000 cells.
import { make } from "../page/dom";
import { onFirstVisible } from "../page/lazy";
import { fewerRows, type Grid, type Layer } from "./pauses";
import { shades } from "./shares";

const ROW = 18; // pixels, if there is room
const TALLEST = 360;

// A canvas must be repainted if the colour scheme changes.
const dark = window.matchMedia("(prefers-color-scheme: dark)");

export class HeatMap {
    readonly element: HTMLElement;
    readonly #canvas = make("canvas", { "aria-hidden": "true" });
    readonly #mark = make("div", { class: "mark", hidden: true });
    #layer: Layer | undefined;
    #row = 0;
    #column = 0;

    // `describe` shows and returns a description of a cell.
    constructor(
        private readonly grid: Grid,
        private readonly describe: (row: number, column: number) => string,
    ) {
        this.element = make(
            "div",
            {
                class: "heat-map",
                tabindex: 0,
                role: "slider",
                "aria-label": "Collections by rank and step; left and right change the step, up and down the rank",
                "aria-valuemin": 0,
                "aria-valuemax": grid.columns - 1,
                "aria-valuenow": 0,
            },
            this.#canvas,
            this.#mark,
        );
        this.element.style.height = `${Math.min(TALLEST, ROW * grid.processes.length)}px`;
        onFirstVisible(this.element, () => {
            new ResizeObserver(() => this.#paint()).observe(this.element);
        });
        dark.addEventListener("change", () => this.#paint());
        this.element.addEventListener("pointermove", (event) => this.#pointAt(event));
        this.element.addEventListener("focus", () => this.#select(this.#row, this.#column));
        this.element.addEventListener("keydown", (event) => this.#press(event));
    }

    show(layer: Layer): void {
        this.#layer = layer;
        this.#paint();
        this.element.setAttribute("aria-valuetext", this.describe(this.#row, this.#column));
    }

    #pointAt(event: MouseEvent): void {
        const box = this.element.getBoundingClientRect();
        const index = (share: number, count: number): number => Math.max(0, Math.min(count - 1, Math.floor(share * count)));
        const row = index((event.clientY - box.top) / Math.max(1, box.height), this.grid.processes.length);
        this.#select(row, index((event.clientX - box.left) / Math.max(1, box.width), this.grid.columns));
    }

    #select(row: number, column: number): void {
        [this.#row, this.#column] = [row, column];
        const [rows, columns] = [this.grid.processes.length, this.grid.columns];
        const percent = (share: number): string => `${(100 * share).toFixed(3)}%`;
        this.#mark.hidden = false;
        this.#mark.style.left = percent(column / columns);
        this.#mark.style.top = percent(row / rows);
        this.#mark.style.width = percent(1 / columns);
        this.#mark.style.height = percent(1 / rows);
        this.element.setAttribute("aria-valuenow", String(column));
        this.element.setAttribute("aria-valuetext", this.describe(row, column));
    }

    #press(event: KeyboardEvent): void {
        const [lastRow, lastColumn] = [this.grid.processes.length - 1, this.grid.columns - 1];
        const moves: Record<string, [number, number]> = {
            ArrowLeft: [this.#row, Math.max(0, this.#column - 1)],
            ArrowRight: [this.#row, Math.min(lastColumn, this.#column + 1)],
            ArrowUp: [Math.max(0, this.#row - 1), this.#column],
            ArrowDown: [Math.min(lastRow, this.#row + 1), this.#column],
            Home: [this.#row, 0],
            End: [this.#row, lastColumn],
        };
        const to = moves[event.key];
        if (to !== undefined) {
            event.preventDefault();
            this.#select(...to);
        }
    }

    #paint(): void {
        const scale = window.devicePixelRatio || 1;
        const width = Math.round(this.element.clientWidth * scale);
        const height = Math.round(this.element.clientHeight * scale);
        const context = this.#canvas.getContext("2d");
        if (width === 0 || context === null || this.#layer === undefined) {
            return;
        }
        this.#canvas.width = width;
        this.#canvas.height = height;
        context.fillStyle = getComputedStyle(this.element).color;
        const rows = fewerRows(this.#layer.values, height);
        const most = rows.reduce((largest, row) => Math.max(largest, ...row), 0);
        const edge = (i: number, count: number, length: number): number => Math.round((i * length) / count);
        rows.forEach((row, y) => {
            const [top, bottom] = [edge(y, rows.length, height), edge(y + 1, rows.length, height)];
            const gap = bottom - top > 6 * scale ? scale : 0;
            row.forEach((value, x) => {
                const [left, right] = [edge(x, row.length, width), edge(x + 1, row.length, width)];
                context.globalAlpha = shades(most > 0 ? value / most : 0);
                context.fillRect(left, top, right - left, bottom - top - gap);
            });
        });
    }
}
