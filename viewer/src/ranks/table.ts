// SPDX-License-Identifier: Apache-2.0
// The rows of the table of findings by process.
import { make } from "../page/dom";
import { formatCount, formatDuration, processName } from "../page/format";
import { cell, number, tableHead } from "../page/table";
import { code, shownName, truncateMiddle } from "../page/text";
import type { Finding, OccurrencesByProcess, Report } from "../report/schema";

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

export function rankRow(report: Report, index: number, { title, by_process }: Finding, strip: HTMLElement): HTMLElement {
    const first = firstOccurrence(by_process);
    const process = by_process.process[first];
    const step = by_process.first_step[first] ?? -1;
    const seen = by_process.first_seen[first];
    const link = make(
        "a",
        { href: `#finding-${index + 1}` },
        make("span", { class: "rank" }, String(index + 1)),
        " ",
        code(truncateMiddle(shownName(title), LONGEST_TITLE)),
    );
    const processes = `${formatCount(by_process.process.length)} of ${formatCount(report.processes.length)}`;
    return make(
        "tr",
        { "data-finding": index },
        make("th", { scope: "row" }, link),
        number(processes),
        cell(process === undefined ? "" : processName(report.processes[process])),
        number(step < 0 ? "" : formatCount(step)),
        number(seen === undefined ? "" : formatDuration(seen)),
        make("td", { class: "strip" }, strip),
    );
}

// `ends`: the names of the first and the last column of the heat map.
export function rankHead(ends: readonly HTMLElement[]): HTMLElement {
    const head = tableHead([
        { title: "Finding" },
        { title: "Processes", number: true },
        { title: "First seen in" },
        { title: "Step", number: true },
        { title: "Time", number: true },
    ]);
    const strip = make("th", { scope: "col", class: "strip" }, make("span", { class: "ends" }, ...ends));
    head.querySelector("tr")?.append(strip);
    return head;
}
