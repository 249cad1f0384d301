// SPDX-License-Identifier: Apache-2.0
// The timeline: memory in use over the run, the memory that each collection freed, and the memory
// that each scan found.
import { announce, byId, field, make } from "../page/dom";
import { counted, formatBytes, formatCount, formatDuration, processName } from "../page/format";
import type { State } from "../findings/state";
import type { Report } from "../report/schema";
import { Chart } from "./chart";
import { marksOf } from "./marks";
import { allSeries, findingsOf, type Series, type Tooth } from "./series";

const MOST_SERIES = 200;
const NOT_SEARCHED = "collections not searched for tensors: over budget"; // a key of `Stats.skipped`
// With fewer collections and scans, the cards say all that a chart would show.
const FEWEST_POINTS = 5;

export function describe(report: Report, series: Series, tooth: Tooth): string {
    const record = report.collections[tooth.collection];
    if (record === undefined) {
        return "";
    }
    const memory = series.measured && (series.samples === undefined || series.samples.source === "allocated by torch")
        ? `, ${series.device} ${formatBytes(tooth.before)} → ${formatBytes(tooth.after)}`
        : "";
    const what = record.scan
        ? `Scan ${formatCount(record.number)}`
        : `Collection ${formatCount(record.number)} (generation ${record.generation})`;
    return (
        `${what} at ${formatDuration(record.started_at)}: ${record.scan ? "found" : "freed"} ` +
        `${formatBytes(tooth.released)} of ` +
        `${counted(record.owners, "owner")}${memory}${unowned(tooth)}; took ${formatDuration(record.duration)}` +
        (tooth.waited > 0 ? `; unreachable for up to ${formatDuration(tooth.waited)} before` : "")
    );
}

function unowned(tooth: Tooth): string {
    return tooth.unowned > 0
        ? `, a further ${formatBytes(tooth.unowned)} freed that no tensor explains, most likely saved for backward`
        : "";
}

// What may have freed memory, although the series shows nothing.
function unexamined(report: Report, series: Series): string[] {
    const objects = report.processes[series.process]?.unexamined ?? "";
    return [
        ...counts(report.stats.skipped[NOT_SEARCHED] ?? 0, "over budget"),
        ...counts(report.omitted_collections, "omitted to limit the size of the report"),
        ...(objects === "" ? [] : [objects]),
    ];
}

function counts(collections: number, reason: string): string[] {
    return collections === 0 ? [] : [`${counted(collections, "collection")} (${reason})`];
}

export function overview(report: Report, series: Series): string {
    if (series.teeth.length === 0) {
        const gaps = unexamined(report, series);
        const examined = gaps.length === 0 ? "" : " that was examined";
        return (
            `No collection${examined} has freed memory kept alive by cycles on this device.` +
            (gaps.length === 0 ? "" : ` Not examined: ${gaps.join("; ")}.`)
        );
    }
    return (
        `${totals(series.teeth)} of memory kept alive by cycles. Hover over one or use the arrow keys; ` +
        "click it or press Enter to see its findings."
    );
}

// "2 collections freed 3 MiB, and 50 scans found 4 MiB".
export function totals(teeth: readonly Tooth[]): string {
    const clauses = [];
    for (const [scan, noun, verb] of [
        [false, "collection", "freed"],
        [true, "scan", "found"],
    ] as const) {
        const found = teeth.filter((tooth) => tooth.scan === scan);
        if (found.length > 0) {
            const bytes = found.reduce((sum, tooth) => sum + tooth.released, 0);
            clauses.push(`${counted(found.length, noun)} ${verb} ${formatBytes(bytes)}`);
        }
    }
    return clauses.join(", and ");
}

// The title of a chart without measurements.
export function titleOf(teeth: readonly Tooth[]): string {
    const scans = teeth.filter((tooth) => tooth.scan).length;
    if (scans === 0) {
        return "Memory freed by collections";
    }
    return scans === teeth.length ? "Unreachable memory found by scans" : "Unreachable memory over the run";
}

// The legend, with a note if the axis does not start at zero.
function keys(series: Series, floor: number): HTMLElement[] {
    const key = (mark: string, text: string): HTMLElement => make("span", { class: `key ${mark}` }, text);
    const found = [];
    if (series.teeth.some((tooth) => !tooth.scan)) {
        found.push(key("freed", "freed by a collection"));
    }
    if (series.teeth.some((tooth) => tooth.scan)) {
        found.push(key("found", "found by a scan, not freed"));
    }
    if (series.measured) {
        found.push(key("owner", series.samples?.source ?? "in use"));
    }
    if (floor > 0) {
        found.push(make("span", { class: "floor" }, `The axis starts at ${formatBytes(floor)}, not at 0.`));
    }
    return found;
}

function seriesName(state: State, series: Series): string {
    const process = processName(state.report.processes[series.process]);
    return series.device === "" ? process : `${process}, ${series.device}`;
}

function chooser(state: State, series: readonly Series[], act: (chosen: Series) => void): HTMLElement {
    const select = make("select");
    series.slice(0, MOST_SERIES).forEach((one, i) => {
        select.append(make("option", { value: i }, seriesName(state, one)));
    });
    select.addEventListener("change", () => {
        const chosen = series[Number(select.value)];
        if (chosen !== undefined) {
            act(chosen);
        }
    });
    // Filtering by rank also selects the memory of that rank.
    let rank = "";
    state.watch((_, choice) => {
        const wanted = choice.facets.rank ?? "";
        if (wanted !== rank && wanted !== "") {
            const found = series.findIndex(
                (one) => String(state.report.processes[one.process]?.rank) === wanted,
            );
            const chosen = series[found];
            if (chosen !== undefined && found < MOST_SERIES) {
                select.value = String(found);
                act(chosen);
            }
        }
        rank = wanted;
    });
    return field("Memory of", select);
}

function toggleCollection(state: State, collection: number): void {
    const same = state.choice.collection?.index === collection;
    state.narrowToCollection(
        same ? undefined : { index: collection, findings: findingsOf(state.report, collection) },
    );
}

export function drawTimeline(state: State): void {
    const series = allSeries(state.report).filter(
        ({ teeth, samples }) => teeth.length >= FEWEST_POINTS || samples !== undefined,
    );
    const [first] = series;
    if (first === undefined) {
        return;
    }
    let shown = first;
    const section = byId("timeline");
    const title = make("h2", { id: "timeline-title" });
    const head = make("header", {}, title);
    const legend = make("p", { class: "keys" });
    const readout = make("p", { class: "readout" });
    const chart = new Chart({
        point: (tooth) => {
            readout.textContent = tooth ? describe(state.report, shown, tooth) : overview(state.report, shown);
            return readout.textContent;
        },
        pick: (tooth) => {
            toggleCollection(state, tooth.collection);
            announce(describe(state.report, shown, tooth));
        },
        marks: (most) => marksOf(state.report, shown.process, shown.device, most),
    });
    const show = (chosen: Series): void => {
        shown = chosen;
        title.textContent = chosen.measured
            ? `${chosen.device} memory over the run`
            : titleOf(chosen.teeth);
        readout.textContent = overview(state.report, chosen);
        // The sum of several processes is not the duration of any.
        chart.show(chosen, state.report.processes.length > 1 ? 0 : state.report.stats.elapsed);
        legend.replaceChildren(...keys(chosen, chart.floor));
    };
    if (series.length > 1) {
        head.append(chooser(state, series, show));
    }
    section.append(head, chart.element, legend, readout);
    section.hidden = false;
    show(shown);
    state.watch((_, choice) => chart.mark(choice.collection?.index));
}
