// SPDX-License-Identifier: Apache-2.0
// Draws live memory as nested rectangles: categories, holders, groups of tensors. Each group is a link
// to its row of the table, which has the same data.
import { hierarchy, treemap, type HierarchyRectangularNode } from "d3-hierarchy";
import { make } from "../page/dom";
import { counted, formatBytes, processName } from "../page/format";
import type { LiveOwner, Report } from "../report/schema";
import { holderOf, nest, pathInHolder, type Branch } from "./groups";

type Node = HierarchyRectangularNode<Branch>;

const HEIGHT = 420;
const DEFAULT_WIDTH = 1000; // if the tab is not shown
const HEADING = 22; // height of the name of a category or holder
const CATEGORY = 1; // depth
const HOLDER = 2;

// Smaller rectangles have no text.
const LEAST_WIDTH = 46;
const LEAST_HEIGHT = 20;
const LEAST_HEIGHT_OF_TWO_LINES = 40;
const LEAST_WIDTH_OF_SIZE = 78;
const LEAST_WIDTH_OF_NAME_AND_SIZE = 150;

function layOut(owners: readonly LiveOwner[], shown: readonly number[], width: number): Node {
    const root = hierarchy(nest(owners, shown))
        .sum((branch) => branch.bytes)
        .sort((a, b) => (b.value ?? 0) - (a.value ?? 0));
    return treemap<Branch>()
        .size([width, HEIGHT])
        .paddingInner(2)
        .paddingTop((node) => (hasHeading(node) ? HEADING : 0))(root);
}

// A holder has a heading only if it is large enough to have rectangles below it.
function hasHeading(node: Node): boolean {
    const [width, height] = [node.x1 - node.x0, node.y1 - node.y0];
    return (
        (node.depth === CATEGORY && height > HEADING) ||
        (node.depth === HOLDER && width > 2 * LEAST_WIDTH && height > 2 * HEADING)
    );
}

function positioned(element: HTMLElement, node: Node, width: number, height: number): HTMLElement {
    const percent = (part: number, whole: number): string => `${((100 * part) / whole).toFixed(3)}%`;
    element.style.left = percent(node.x0, width);
    element.style.top = percent(node.y0, HEIGHT);
    element.style.width = percent(node.x1 - node.x0, width);
    element.style.height = percent(height, HEIGHT);
    return element;
}

function heading(node: Node, width: number): HTMLElement {
    const style = node.depth === CATEGORY ? "category" : "holder";
    const made = make(
        "div",
        { class: style, "aria-hidden": true },
        make("span", { class: "name" }, node.data.name),
    );
    if (node.x1 - node.x0 >= LEAST_WIDTH_OF_NAME_AND_SIZE) {
        made.append(" ", make("span", { class: "size" }, formatBytes(node.value ?? 0)));
    }
    return positioned(made, node, width, HEADING);
}

function description(report: Report, live: LiveOwner): string {
    const process = report.processes.length > 1 ? `, ${processName(report.processes[live.process])}` : "";
    const { count, type, device } = live.owner;
    const held = live.held_by[0]?.text ?? holderOf(live);
    return (
        `${live.category}, ${formatBytes(live.bytes)}: ${counted(count, type, type)} on ${device}${process}, ` +
        `held by ${held}`
    );
}

export class Treemap {
    readonly element = make("div", { class: "treemap", role: "group", "aria-label": "Live memory by category and holder" });
    #shown: readonly number[] = [];
    #cells: { link: HTMLAnchorElement; node: Node }[] = [];
    #width = 0;

    constructor(
        private readonly report: Report,
        private readonly owners: readonly LiveOwner[],
    ) {
        new ResizeObserver(() => {
            if (this.element.clientWidth > 0 && this.element.clientWidth !== this.#width) {
                this.#draw();
            }
        }).observe(this.element);
        this.element.addEventListener("keydown", (event) => this.#press(event));
    }

    show(shown: readonly number[]): void {
        this.#shown = shown;
        this.#draw();
    }

    #draw(): void {
        this.#width = this.element.clientWidth;
        const width = this.#width || DEFAULT_WIDTH;
        const root = layOut(this.owners, this.#shown, width);
        const nodes = root.descendants().filter((node) => node.x1 > node.x0 && node.y1 > node.y0);
        const headings = nodes.filter(hasHeading).map((node) => heading(node, width));
        this.#cells = nodes.flatMap((node) => {
            const live = this.owners[node.data.index];
            return live === undefined ? [] : [{ link: this.#cell(live, node, width), node }];
        });
        this.element.replaceChildren(...headings, ...this.#cells.map(({ link }) => link));
        this.#makeTabStop(0);
    }

    #cell(live: LiveOwner, node: Node, width: number): HTMLAnchorElement {
        const text = description(this.report, live);
        const link = make("a", {
            class: `cell live-${live.category.replaceAll(" ", "-")}`,
            href: `#live-${node.data.index + 1}`,
            tabindex: -1,
            title: text,
            "aria-label": text,
        });
        const [wide, high] = [node.x1 - node.x0, node.y1 - node.y0];
        if (wide >= LEAST_WIDTH && high >= LEAST_HEIGHT) {
            link.append(make("span", { class: "name" }, pathInHolder(live)));
            if (high >= LEAST_HEIGHT_OF_TWO_LINES && wide >= LEAST_WIDTH_OF_SIZE) {
                link.append(make("span", { class: "size" }, formatBytes(live.bytes)));
            }
        }
        positioned(link, node, width, high);
        return link;
    }

    // One tab stop for all rectangles; arrow keys move between them.
    #makeTabStop(at: number): void {
        this.#cells.forEach(({ link }, i) => (link.tabIndex = i === at ? 0 : -1));
    }

    #press(event: KeyboardEvent): void {
        const at = this.#cells.findIndex(({ link }) => link === document.activeElement);
        const to = event.key === "Home" ? 0 : event.key === "End" ? this.#cells.length - 1 : this.#neighbour(at, event.key);
        const cell = this.#cells[to];
        if (at >= 0 && cell !== undefined && !event.ctrlKey && !event.metaKey && !event.altKey) {
            event.preventDefault();
            this.#makeTabStop(to);
            cell.link.focus();
        }
    }

    // The nearest rectangle in the direction of an arrow key; -1 if there is none.
    #neighbour(at: number, key: string): number {
        const direction = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[key];
        const from = this.#cells[at]?.node;
        if (direction === undefined || from === undefined) {
            return -1;
        }
        const [right = 0, down = 0] = direction;
        let nearest = -1;
        let least = Infinity;
        this.#cells.forEach(({ node }, i) => {
            const x = (node.x0 + node.x1 - from.x0 - from.x1) / 2;
            const y = (node.y0 + node.y1 - from.y0 - from.y1) / 2;
            const along = x * right + y * down;
            const distance = along + 2 * Math.abs(x * down + y * right);
            if (along > 1 && distance < least) {
                least = distance;
                nearest = i;
            }
        });
        return nearest;
    }
}
