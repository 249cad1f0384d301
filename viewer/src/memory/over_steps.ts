// SPDX-License-Identifier: Apache-2.0
// The panel "Memory over the steps": the stack of one process and device, with a legend and a readout.
import { field, make, select } from "../page/dom";
import { counted, formatBytes, formatCount, processName } from "../page/format";
import type { Report } from "../report/schema";
import { StackChart } from "./chart";
import { isExact, type Measured } from "./knots";
import { stackOf, totalOf, type Point, type Stack } from "./steps";

const FEWEST_POINTS = 3;

export function describePoint(stack: Stack, point: Point): string {
    const split = stack.layers
        .map((layer, i) => ({ name: layer.name, bytes: point.sizes[i] ?? 0 }))
        .filter(({ bytes }) => bytes > 0)
        .map(({ name, bytes }) => `${formatBytes(bytes)} ${name}`);
    const where = stack.device === "cpu" ? "resident" : "reserved";
    const peak = point.peak === undefined ? "" : `; at most ${formatBytes(point.peak)} allocated at one time so far`;
    const measured = point.measured === undefined ? "" : ` ${describeMeasured(point.measured)}`;
    return (
        `Step ${formatCount(Math.round(point.step))}: ${split.length === 0 ? "nothing" : split.join(", ")}; ` +
        `${formatBytes(point.inUse)} ${where}${peak}.${measured}`
    );
}

function describeMeasured(measured: Measured): string {
    if (isExact(measured)) {
        return "Categories are exact: they were measured here.";
    }
    const [before, after] = [measured.before, measured.after].map((step) => formatCount(Math.round(step ?? 0)));
    if (measured.before !== undefined && measured.after !== undefined) {
        return `Categories are interpolated between the measurements in steps ${before} and ${after}.`;
    }
    return measured.before === undefined
        ? `Categories are unknown before the first measurement in step ${after}, whose values are shown.`
        : `Categories are unknown after the last measurement in step ${before}, whose values are shown.`;
}

// Censuses that would have exceeded the time budget.
function skippedCensuses(report: Report): string {
    const skipped = report.stats.skipped["census: over budget"] ?? 0;
    return skipped === 0 ? "" : ` The watch skipped ${counted(skipped, "census", "censuses")}, because it was over its budget.`;
}

function overview(report: Report, stack: Stack): string {
    const most = Math.max(...stack.points.map(totalOf));
    const estimated = stack.censuses
        ? " Dots mark the censuses and accounts, at which the categories are exact. Between them, they are interpolated; " +
          "in the pale parts, they are unknown and drawn as in the nearest dot."
        : "";
    const skipped = stack.censuses ? skippedCensuses(report) : "";
    return `At most ${formatBytes(most)}. Hover over a step or use the arrow keys to see its parts.${estimated}${skipped}`;
}

function legend(stack: Stack): HTMLElement[] {
    const layers = stack.layers.map(({ kind, name }) => make("span", { class: `key layer-${kind}` }, name));
    const hasPeak = stack.points.some(({ peak }) => peak !== undefined);
    return hasPeak ? [...layers, make("span", { class: "key peak" }, "peak of torch's allocations so far")] : layers;
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
        readout.textContent = point === undefined ? overview(report, shown) : describePoint(shown, point);
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
