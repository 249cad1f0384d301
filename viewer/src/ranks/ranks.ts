// SPDX-License-Identifier: Apache-2.0
// The table of findings by process, with a heat map: a strip for each finding, with a column for each process.
import { make } from "../page/dom";
import { counted, formatBytes, formatDuration, processName } from "../page/format";
import { more, panel } from "../page/table";
import type { State } from "../findings/state";
import { rankName } from "../findings/choice";
import type { Finding, OccurrencesByProcess, Report } from "../report/schema";
import { Strip } from "./strip";
import { rankHead, rankRow } from "./table";

const MOST_ROWS = 300;

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

function stripFor(state: State, index: number, { by_process }: Finding, most: number, readout: HTMLElement, strips: readonly Strip[]): Strip {
    const { report } = state;
    return new Strip(report.processes.length, `Finding ${index + 1} by rank`, {
        values: () => sharesByProcess(report, by_process, most),
        point: (process) => (readout.textContent = describe(report, process, by_process)),
        pick: (process) => {
            const rank = rankName(report.processes[process]?.rank ?? -1);
            state.narrow("rank", state.choice.facets.rank === rank ? "" : rank);
        },
        leave: (direction, process) => strips[index + direction]?.focus(process),
    });
}

// Nothing if the report has only one process.
export function ranksPanel(state: State): HTMLElement[] {
    const { findings, processes } = state.report;
    if (processes.length < 2 || findings.length === 0) {
        return [];
    }
    const hint = "A stronger colour means more memory. Hover over a cell or use the arrow keys.";
    const readout = make("p", { class: "readout" }, hint);
    const most = largest(state.report);
    const strips: Strip[] = [];
    const rows = findings.slice(0, MOST_ROWS).map((finding, index) => {
        const strip = stripFor(state, index, finding, most, readout, strips);
        strips.push(strip);
        return rankRow(state.report, index, finding, strip.element);
    });
    // One tab stop for the whole map; arrow keys move between strips.
    strips[0]?.makeTabStop();
    const ends = [processes[0], processes.at(-1)].map((process) => make("span", {}, processName(process)));
    const table = make("table", {}, rankHead(ends), make("tbody", { "data-findings": true }, ...rows));
    const box = make("div", { class: "scroll", role: "region", tabindex: 0, "aria-labelledby": "ranks-title" }, table);
    return [panel("ranks", "Findings by process", box, ...more(findings.length - rows.length, "smaller finding"), readout)];
}
