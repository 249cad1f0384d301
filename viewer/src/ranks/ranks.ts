// SPDX-License-Identifier: Apache-2.0
// Adds a heat map to the table of findings by process: a strip for each finding, with a column for
// each process.
import { all, make } from "../page/dom";
import { counted, formatBytes, formatDuration, processName } from "../page/format";
import type { State } from "../findings/state";
import { rankName } from "../findings/choice";
import type { Report, OccurrencesByProcess } from "../report/schema";
import { Strip } from "./strip";

function describe(report: Report, process: number, byProcess: OccurrencesByProcess): string {
    const name = processName(report.processes[process]);
    const at = byProcess.process.lastIndexOf(process);
    const value = (field: keyof OccurrencesByProcess): number => byProcess[field][at] ?? 0;
    if (at < 0) {
        return `${name}: not seen`;
    }
    const step = value("first_step") < 0 ? "" : ` at step ${value("first_step")}`;
    return (
        `${name}: ${formatBytes(value("retained_bytes"))} in ${counted(value("occurrences"), "cycle")}, ` +
        `first seen${step} after ${formatDuration(value("first_seen"))}`
    );
}

function largest(report: Report): number {
    let most = 1;
    for (const { by_process } of report.findings) {
        for (const bytes of by_process.retained_bytes) {
            most = Math.max(most, bytes);
        }
    }
    return most;
}

// Retained bytes of each process as a share of `most`.
function sharesByProcess(report: Report, { process, retained_bytes }: OccurrencesByProcess, most: number): number[] {
    const found = new Array<number>(report.processes.length).fill(0);
    process.forEach((where, i) => (found[where] = (retained_bytes[i] ?? 0) / most));
    return found;
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
    const readout = make("p", { class: "readout" }, "A stronger colour means more memory. Hover over a cell or use the arrow keys.");
    section.append(readout);
    const most = largest(report);
    const strips: Strip[] = [];
    for (const [place, row] of all("tr[data-finding]", rows).entries()) {
        const number = Number(row.dataset.finding);
        const byProcess = report.findings[number]?.by_process;
        if (byProcess === undefined) {
            continue;
        }
        const strip = new Strip(
            report.processes.length,
            `Finding ${number + 1} by rank`,
            {
                values: () => sharesByProcess(report, byProcess, most),
                point: (process) => (readout.textContent = describe(report, process, byProcess)),
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
    // One tab stop for the whole map; arrow keys move between strips.
    strips[0]?.makeTabStop();
}
