// SPDX-License-Identifier: Apache-2.0
// The panel "Memory by process": the processes of a job in one chart, with the one that differs highlighted.
import { make, makeSvg } from "../page/dom";
import { counted, formatBytes, formatDuration, processName } from "../page/format";
import { panel } from "../page/table";
import type { Report } from "../report/schema";
import { byteAxis } from "../timeline/byte_axis";
import { byteRange, place, timeTicks, timeTickText, type Scale } from "../timeline/scale";
import { compare, type Comparison, type Line } from "./diverging";

const MOST_LINES = 100;
const HEIGHT = 210;
const TOP = 12;
const BOTTOM = 26; // the time axis
const LEFT = 74; // the byte axis
const RIGHT = 14;

function nameOf(report: Report, { process, device }: Line): string {
    return `${processName(report.processes[process])}, ${device}`;
}

export function summary(report: Report, comparison: Comparison): string {
    const { ended } = comparison;
    if (ended === undefined) {
        return difference(report, comparison);
    }
    const [from, until] = ended.map(formatDuration);
    return (
        `${difference(report, comparison)} The processes ended at different times, after ${from} to ${until}; ` +
        "each is compared with those that had not ended."
    );
}

const FEW_SAMPLES = 30; // about three seconds

function difference(report: Report, comparison: Comparison): string {
    const { lines, distances, median, end, ended, similar, diverging } = comparison;
    const [first, second] = lines;
    if (first === undefined || second === undefined) {
        return "";
    }
    if (lines.length === 2) {
        const ends = (line: Line): string => `${nameOf(report, line)}: ${formatBytes(line.bytes.at(-1) ?? 0)}`;
        return `At the end, ${ends(first)}; ${ends(second)}.`;
    }
    const last = Math.min(end, first.bytes.length - 1);
    const when = ended === undefined ? "at the end" : `after ${formatDuration(median.times[last] ?? 0)}`;
    const sizeAtEnd = ({ bytes }: Line): string => formatBytes(Math.round(bytes[last] ?? 0));
    const far = `${formatBytes(Math.round(distances[0] ?? 0))} on average`;
    const samples = Math.min(...lines.map((line) => line.samples));
    if (!diverging && samples < FEW_SAMPLES) {
        return (
            `${nameOf(report, first)} is farthest from the median: ${far}, ${when} ${sizeAtEnd(first)}. ` +
            `This is too little to tell whether it differs from the others: a process has ${counted(samples, "sample")}.`
        );
    }
    if (!diverging && !similar) {
        return (
            `The processes differ, but none much more than the others: ${nameOf(report, first)} is farthest from the ` +
            `median, ${far}, ${when} ${sizeAtEnd(first)}.`
        );
    }
    if (!diverging) {
        return `No process differs much from the others: the largest distance from the median is ${far}.`;
    }
    return (
        `${nameOf(report, first)} differs from the other ${counted(lines.length - 1, "process", "processes")}: ` +
        `${far} from the median; ${when} ${sizeAtEnd(first)}, the median ${sizeAtEnd(median)}.`
    );
}

function path({ times, bytes }: Line, x: Scale, y: Scale): string {
    const points = times.map((at, i) => `${place(x, at).toFixed(1)} ${place(y, bytes[i] ?? 0).toFixed(1)}`);
    return `M${points.join("L")}`;
}

function draw(comparison: Comparison, width: number): SVGElement {
    const { lines, median, diverging } = comparison;
    const values = lines.flatMap(({ bytes }) => bytes);
    const [from, to] = byteRange(Math.min(...values), Math.max(1, ...values));
    const x: Scale = { from: 0, to: median.times.at(-1) ?? 0, start: LEFT, end: width - RIGHT };
    const y: Scale = { from, to, start: HEIGHT - BOTTOM, end: TOP };
    const axes = makeSvg("g", { class: "axes", "aria-hidden": "true" }, ...byteAxis(x, y, LEFT));
    for (const tick of timeTicks(0, x.to, Math.max(2, width / 110))) {
        const text = timeTickText(tick);
        const at = Math.min(place(x, tick), x.end - text.length * 3.5);
        axes.append(makeSvg("text", { x: at, y: HEIGHT - 6, "text-anchor": "middle" }, text));
    }
    const shown = lines.slice(0, MOST_LINES).reverse();
    const drawn = shown.map((line) =>
        makeSvg("path", {
            class: diverging && line === lines[0] ? "rank-line diverging" : "rank-line",
            "data-process": line.process,
            d: path(line, x, y),
        }),
    );
    return makeSvg("svg", { width, height: HEIGHT, "aria-hidden": "true" }, axes, ...drawn);
}

// Nothing unless at least two processes have samples.
export function overlayPanel(report: Report): HTMLElement[] {
    const comparison = compare(report);
    if (comparison === undefined) {
        return [];
    }
    const text = summary(report, comparison);
    const chart = make("div", { class: "chart overlay", role: "img", "aria-label": text });
    new ResizeObserver(() => {
        if (chart.clientWidth > LEFT + RIGHT + 50) {
            chart.replaceChildren(draw(comparison, chart.clientWidth));
        }
    }).observe(chart);
    const [first] = comparison.lines;
    const keys = [make("span", { class: "key rank-line" }, comparison.diverging ? "the other processes" : "a process")];
    if (comparison.diverging && first !== undefined) {
        keys.unshift(make("span", { class: "key diverging" }, nameOf(report, first)));
    }
    return [panel("memory-by-process", "Memory by process", chart, make("p", { class: "keys" }, ...keys), make("p", { class: "readout" }, text))];
}
