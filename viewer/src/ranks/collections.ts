// SPDX-License-Identifier: Apache-2.0
// The panel "Collections by rank and step": what collections cost the job, a heat map, and a table.
import { field, make, select } from "../page/dom";
import { formatBytes, formatCount, formatDuration, processName } from "../page/format";
import { more, number, panel, scrollingTable } from "../page/table";
import { cleanText } from "../page/text";
import type { CollectionSteps, Report } from "../report/schema";
import type { Texts } from "../report/texts";
import { HeatMap } from "./heat_map";
import { describeCell, gridOf, type Grid } from "./pauses";

const MOST_ROWS = 100;

function notes(grid: Grid): string {
    return [
        "A stronger colour means more. Hover over a cell or use the arrow keys.",
        ...(grid.width > 1 ? [`Each column is ${formatCount(grid.width)} steps.`] : []),
        ...(grid.shorterThan > 0 ? [`Steps with less than ${formatDuration(grid.shorterThan)} of collections are left out.`] : []),
        ...(grid.every > 1 ? [`The values are estimated from one in ${formatCount(grid.every)} steps.`] : []),
    ].join(" ");
}

function tableRow(report: Report, { process, every, steps, seconds, freed_bytes }: CollectionSteps): HTMLElement {
    const total = seconds.reduce((sum, each) => sum + each, 0) * every;
    const longest = seconds.reduce((most, each) => Math.max(most, each), 0);
    const at = steps[seconds.indexOf(longest)];
    return make(
        "tr",
        {},
        make("th", { scope: "row" }, processName(report.processes[process])),
        number(formatCount(steps.length * every)),
        number(formatDuration(total)),
        number(formatDuration(longest)),
        number(at === undefined ? "" : formatCount(at)),
        number(formatBytes(freed_bytes.reduce((sum, each) => sum + each, 0) * every)),
    );
}

function table(report: Report): HTMLElement {
    const all = report.collection_steps ?? [];
    const titles = ["Steps with collections", "Time of collections", "Longest in a step", "At step", "Freed"];
    const columns = [{ title: "Process" }, ...titles.map((title) => ({ title, number: true }))];
    const rows = all.slice(0, MOST_ROWS).map((steps) => tableRow(report, steps));
    const caption = "Collections by process";
    return make(
        "details",
        {},
        make("summary", {}, caption),
        scrollingTable(caption, columns, rows),
        ...more(all.length - rows.length, "more rank"),
    );
}

// Nothing if the report has the steps of only one process.
export function collectionsPanel(report: Report, texts: Texts): HTMLElement[] {
    const grid = gridOf(report);
    const [first] = grid?.layers ?? [];
    if (grid === undefined || first === undefined) {
        return [];
    }
    let shown = first;
    const readout = make("p", { class: "readout" }, notes(grid));
    let isPointed = false;
    const map = new HeatMap(grid, (row, column) => {
        const text = describeCell(report, grid, shown, row, column);
        if (isPointed) {
            readout.textContent = text;
        }
        return text;
    });
    map.show(first);
    isPointed = true;
    const options = grid.layers.map(({ name }, i) => [String(i), name] as const);
    const choice = select(options, (value) => {
        shown = grid.layers[Number(value)] ?? first;
        map.show(shown);
    });
    const name = (row: number): string => processName(report.processes[grid.processes.at(row) ?? -1]);
    const ranks = make("div", { class: "rank-ends", "aria-hidden": "true" }, make("span", {}, name(0)), make("span", {}, name(-1)));
    const steps = make(
        "div",
        { class: "step-ends", "aria-hidden": "true" },
        make("span", {}, `step ${formatCount(grid.first)}`),
        make("span", {}, formatCount(grid.last)),
    );
    const made = panel(
        "collections",
        "Collections by rank and step",
        ...(texts.alignment ? [make("p", {}, cleanText(texts.alignment))] : []),
        make("div", { class: "heat" }, ranks, map.element, steps),
        readout,
        table(report),
    );
    if (grid.layers.length > 1) {
        made.querySelector("header")?.append(field("Show", choice));
    }
    return [made];
}
