// SPDX-License-Identifier: Apache-2.0
// The table of findings by process. ranks.ts adds a heat map to each row.
import { make } from "../page/dom";
import { formatCount, formatDuration, processName } from "../page/format";
import { cell, more, number, panel, tableHead } from "../page/table";
import { code, shownName, truncateMiddle } from "../page/text";
import type { OccurrencesByProcess, Report } from "../report/schema";

const MOST_ROWS = 300;
const LONGEST_TITLE = 40;

// Position of the first occurrence; -1 if there is none. Compares step numbers if they are known, because each process measures
// time from a different starting point.
function firstOccurrence({ process, first_step, first_seen }: OccurrencesByProcess): number {
    const step = (at: number): number => first_step[at] ?? -1;
    const seen = (at: number): number => first_seen[at] ?? Infinity;
    const isEarlier = (a: number, b: number): boolean =>
        step(a) >= 0 && step(b) >= 0 && step(a) !== step(b) ? step(a) < step(b) : seen(a) < seen(b);
    return process.reduce((first, _, at) => (first < 0 || isEarlier(at, first) ? at : first), -1);
}

function row(report: Report, index: number): HTMLElement {
    const finding = report.findings[index];
    const byProcess = finding?.by_process;
    const first = byProcess === undefined ? -1 : firstOccurrence(byProcess);
    const process = byProcess?.process[first];
    const step = byProcess?.first_step[first] ?? -1;
    const seen = byProcess?.first_seen[first];
    const link = make(
        "a",
        { href: `#finding-${index + 1}` },
        make("span", { class: "rank" }, String(index + 1)),
        " ",
        code(truncateMiddle(shownName(finding?.title ?? ""), LONGEST_TITLE)),
    );
    const processes = `${formatCount(byProcess?.process.length ?? 0)} of ${formatCount(report.processes.length)}`;
    return make(
        "tr",
        { "data-finding": index },
        make("th", { scope: "row" }, link),
        number(processes),
        cell(process === undefined ? "" : processName(report.processes[process])),
        number(step < 0 ? "" : formatCount(step)),
        number(seen === undefined ? "" : formatDuration(seen)),
    );
}

// Nothing if the report has only one process.
export function ranksPanel(report: Report): HTMLElement[] {
    if (report.processes.length < 2 || report.findings.length === 0) {
        return [];
    }
    const head = tableHead([
        { title: "Finding" },
        { title: "Processes", number: true },
        { title: "First seen in" },
        { title: "Step", number: true },
        { title: "Time", number: true },
    ]);
    const rows = report.findings.slice(0, MOST_ROWS).map((_, i) => row(report, i));
    const table = make("table", {}, head, make("tbody", { "data-findings": true }, ...rows));
    const box = make("div", { class: "scroll", role: "region", tabindex: 0, "aria-labelledby": "ranks-title" }, table);
    return [panel("ranks", "Findings by process", box, ...more(report.findings.length - MOST_ROWS, "smaller finding"))];
}
