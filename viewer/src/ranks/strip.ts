// SPDX-License-Identifier: Apache-2.0
// One row of the heat map. It is a canvas, because a merged report may have 200,000 cells.
import { make } from "../page/dom";
import { onFirstVisible } from "../page/lazy";
import { shades, shares } from "./shares";

const HEIGHT = 18;

interface Actions {
    values: () => number[]; // of the columns; called before the first paint
    point: (column: number) => string; // returns a description
    pick: (column: number) => void;
    leave: (direction: -1 | 1, column: number) => void; // to the strip above or below
}

// A canvas must be repainted if the colour scheme changes.
const dark = window.matchMedia("(prefers-color-scheme: dark)");

export class Strip {
    readonly element: HTMLCanvasElement;
    readonly #count: number;
    readonly #actions: Actions;
    #values: readonly number[] | undefined;
    #at = 0;

    constructor(count: number, label: string, actions: Actions) {
        this.#count = count;
        this.#actions = actions;
        this.element = make("canvas", {
            tabindex: -1,
            role: "slider",
            "aria-label": label,
            "aria-valuemin": 0,
            "aria-valuemax": count - 1,
            "aria-valuenow": 0,
        });
        onFirstVisible(this.element, () => {
            new ResizeObserver(() => this.#paint()).observe(this.element);
        });
        dark.addEventListener("change", () => this.#paint());
        this.element.addEventListener("pointermove", (event) => this.#point(this.#column(event)));
        this.element.addEventListener("click", (event) => actions.pick(this.#column(event)));
        this.element.addEventListener("focus", () => this.#point(this.#at));
        this.element.addEventListener("keydown", (event) => this.#press(event));
    }

    makeTabStop(): void {
        this.element.tabIndex = 0;
    }

    focus(column: number): void {
        this.#at = column;
        this.element.focus();
    }

    #column(event: MouseEvent): number {
        const box = this.element.getBoundingClientRect();
        const share = (event.clientX - box.left) / Math.max(1, box.width);
        return Math.max(0, Math.min(this.#count - 1, Math.floor(share * this.#count)));
    }

    #point(column: number): void {
        this.#at = column;
        this.element.setAttribute("aria-valuenow", String(column));
        this.element.setAttribute("aria-valuetext", this.#actions.point(column));
    }

    #press(event: KeyboardEvent): void {
        const last = this.#count - 1;
        const moves: Record<string, number> = {
            ArrowLeft: Math.max(0, this.#at - 1),
            ArrowRight: Math.min(last, this.#at + 1),
            Home: 0,
            End: last,
        };
        const to = moves[event.key];
        if (to !== undefined) {
            this.#point(to);
        } else if (event.key === "ArrowUp" || event.key === "ArrowDown") {
            this.#actions.leave(event.key === "ArrowUp" ? -1 : 1, this.#at);
        } else if (event.key === "Enter" || event.key === " ") {
            this.#actions.pick(this.#at);
        } else {
            return;
        }
        event.preventDefault();
    }

    #paint(): void {
        const scale = window.devicePixelRatio || 1;
        const width = Math.round(this.element.clientWidth * scale);
        const context = this.element.getContext("2d");
        if (width === 0 || context === null) {
            return;
        }
        this.element.width = width;
        this.element.height = HEIGHT * scale;
        context.fillStyle = getComputedStyle(this.element).color;
        this.#values ??= this.#actions.values();
        const columns = shares(this.#values, width);
        const wide = width / columns.length;
        const gap = wide > 6 * scale ? scale : 0;
        for (const [i, value] of columns.entries()) {
            context.globalAlpha = shades(value);
            const left = Math.round(i * wide);
            context.fillRect(left, 0, Math.round((i + 1) * wide) - left - gap, this.element.height);
        }
    }
}
