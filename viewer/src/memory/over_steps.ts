// SPDX-License-Identifier: Apache-2.0
// The panel "Memory over the steps": the stack of one process and device, with a legend and a readout.
import { field, make, select } from "../page/dom";
import { formatBytes, formatCount, processName } from "../page/format";
import type { Report } from "../report/schema";
import { StackChart } from "./chart";
import { stackOf, totalOf, type Point, type Stack } from "./steps";

const FEWEST_POINTS = 3;

export function describePoint(stack: Stack, point: Point): string {
    const split = stack.layers
        .map((layer, i) => ({ name: layer.name, bytes: point.sizes[i] ?? 0 }))
        .filter(({ bytes }) => bytes > 0)
        .map(({ name, bytes }) => `${formatBytes(bytes)} ${name}`);
    const where = stack.device === "cpu" ? "resident" : "reserved";
    const measured = point.exact ? " Categories are exact: a census was taken here." : "";
    return (
        `Step ${formatCount(Math.round(point.step))}: ${split.length === 0 ? "nothing" : split.join(", ")}; ` +
        `${formatBytes(point.inUse)} ${where}.${measured}`
    );
}

function overview(stack: Stack): string {
    const most = Math.max(...stack.points.map(totalOf));
    const estimated = stack.censuses
        ? " Dots mark the censuses, at which the categories are exact; between them, they are interpolated."
        : "";
    return `At most ${formatBytes(most)}. Hover over a step or use the arrow keys to see its parts.${estimated}`;
}

function legend(stack: Stack): HTMLElement[] {
    return stack.layers.map(({ kind, name }) => make("span", { class: `key layer-${kind}` }, name));
}

function nameOf(report: Report, stack: Stack): string {
    return `${processName(report.processes[stack.process])}, ${stack.device}`;
}

// Undefined if the program has set too few steps for a chart.
export function stepsPanel(report: Report): HTMLElement | undefined {
    const stacks = (report.memory_steps ?? [])
        .filter(({ steps }) => steps.length >= FEWEST_POINTS)
        .map((steps) => stackOf(report, steps))
        .filter(({ layers }) => layers.length > 0);
    const [first] = stacks;
    if (first === undefined) {
        return undefined;
    }
    let shown = first;
    const title = make("h2", { id: "memory-steps-title" });
    const head = make("header", {}, title);
    const keys = make("p", { class: "keys" });
    const readout = make("p", { class: "readout" });
    const chart = new StackChart((point) => {
        readout.textContent = point === undefined ? overview(shown) : describePoint(shown, point);
        return readout.textContent;
    });
    const show = (stack: Stack): void => {
        shown = stack;
        title.textContent = `${stack.device} memory over the steps`;
        keys.replaceChildren(...legend(stack));
        chart.show(stack);
    };
    if (stacks.length > 1) {
        const names = stacks.map((stack, i) => [String(i), nameOf(report, stack)] as const);
        head.append(field("Memory of", select(names, (value) => show(stacks[Number(value)] ?? first))));
    }
    const panel = make(
        "section",
        { id: "memory-steps", class: "panel", "aria-labelledby": "memory-steps-title" },
        head,
        chart.element,
        keys,
        readout,
    );
    show(first);
    return panel;
}
