// SPDX-License-Identifier: Apache-2.0
// Findings by ranks: puts a strip into each row of the table that the page has already, a column
// of pixels for each process, the stronger the more it held.
import { all, make } from "../page/dom";
import { counted, formatBytes, formatDuration } from "../page/format";
import { processName } from "../page/names";
import type { State } from "../findings/state";
import { rankName } from "../findings/choice";
import type { Report, Sighting } from "../report/schema";
import { Strip } from "./strip";

function describe(report: Report, process: number, sighting: Sighting | undefined): string {
    const name = processName(report.processes[process]);
    if (sighting === undefined) {
        return `${name}: not seen`;
    }
    const step = sighting.first_step < 0 ? "" : ` at step ${sighting.first_step}`;
    return (
        `${name}: ${formatBytes(sighting.held_bytes)} in ${counted(sighting.occurrences, "loop")}, ` +
        `first${step} after ${formatDuration(sighting.first_seen)}`
    );
}

function heaviest(report: Report): number {
    let most = 1;
    for (const finding of report.findings) {
        for (const sighting of finding.sightings) {
            most = Math.max(most, sighting.held_bytes);
        }
    }
    return most;
}

function byProcess(report: Report, finding: number): (Sighting | undefined)[] {
    const cells = new Array<Sighting | undefined>(report.processes.length).fill(undefined);
    for (const sighting of report.findings[finding]?.sightings ?? []) {
        cells[sighting.process] = sighting;
    }
    return cells;
}

function addHeadings(report: Report, rows: HTMLElement): void {
    const first = processName(report.processes[0]);
    const last = processName(report.processes.at(-1));
    const heading = make(
        "th",
        { scope: "col", class: "strip" },
        make("span", { class: "ends" }, make("span", {}, first), make("span", {}, last)),
    );
    rows.closest("table")?.querySelector("thead tr")?.append(heading);
}

export function drawRanks(state: State): void {
    const { report } = state;
    const section = document.getElementById("ranks");
    const rows = section?.querySelector<HTMLElement>("tbody");
    if (section === null || rows === undefined || rows === null) {
        return; // one process
    }
    addHeadings(report, rows);
    const readout = make("p", { class: "readout" }, "Stronger colour: more bytes. Point at a cell, or use the arrow keys.");
    section.append(readout);
    const most = heaviest(report);
    const strips: Strip[] = [];
    for (const [place, row] of all("tr[data-finding]", rows).entries()) {
        const cells = byProcess(report, Number(row.dataset.finding));
        const strip = new Strip(
            cells.map((sighting) => (sighting?.held_bytes ?? 0) / most),
            `Finding ${Number(row.dataset.finding) + 1} by rank`,
            {
                point: (process) => (readout.textContent = describe(report, process, cells[process])),
                pick: (process) => {
                    const rank = rankName(report.processes[process]?.rank ?? -1);
                    state.narrow("rank", state.choice.facets.rank === rank ? "" : rank);
                },
                leave: (direction, process) => strips[place + direction]?.focus(process),
            },
        );
        strips.push(strip);
        row.append(make("td", { class: "strip" }, strip.element));
    }
    // One stop of the Tab key for the whole map; arrows do the rest.
    strips[0]?.admit();
}
