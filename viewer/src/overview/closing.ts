// SPDX-License-Identifier: Apache-2.0
// The end of the page: collections by generation, overhead, notes, collections and the watched processes.
import { make } from "../page/dom";
import { counted, formatBytes, formatCount, formatDuration, formatPercent } from "../page/format";
import { cell, number, panel, scrollingTable } from "../page/table";
import { cleanText, truncateEnd } from "../page/text";
import type { Collection, Report } from "../report/schema";
import type { Texts } from "../report/texts";

const MOST_COLLECTIONS = 200;
const LONGEST_NOTE = 400;
const LONGEST_COLLECTION_NOTE = 200;
const LONGEST_PROCESSES = 600;

export function generationsPanel(report: Report, texts: Texts): HTMLElement[] {
    if (texts.collections === "") {
        return [];
    }
    const { generations } = report.stats;
    const examined = generations.some((totals) => totals.examined > 0);
    const titles = [
        ...["Collections", "Freed device memory", "Bytes", "Time", "Share of the run"],
        ...(examined ? ["Objects examined"] : []),
        "Objects reclaimed",
    ];
    const rows = generations.map((totals) =>
        make(
            "tr",
            {},
            make("th", { scope: "row" }, String(totals.generation)),
            number(formatCount(totals.collections)),
            number(formatCount(totals.freeing)),
            number(formatBytes(totals.freed_bytes)),
            number(formatDuration(totals.seconds)),
            number(formatPercent(totals.share)),
            ...(examined ? [number(formatCount(totals.examined))] : []),
            number(formatCount(totals.reclaimed)),
        ),
    );
    const columns = [{ title: "Generation" }, ...titles.map((title) => ({ title, number: true }))];
    const table = scrollingTable("Collections by generation", columns, rows);
    return [panel("generations", "Does this run need garbage collection?", make("p", {}, cleanText(texts.collections)), table)];
}

function collectionRow(record: Collection): HTMLElement {
    return make(
        "tr",
        {},
        number(formatCount(record.number)),
        cell(record.scan ? "scan" : "collection"),
        number(String(record.generation)),
        number(formatDuration(record.started_at)),
        number(formatDuration(record.duration)),
        number(formatDuration(record.own_seconds)),
        number(formatCount(record.unreachable)),
        number(formatCount(record.owners)),
        number(formatBytes(record.released_bytes)),
        cell(truncateEnd(cleanText(record.note), LONGEST_COLLECTION_NOTE)),
    );
}

// "1 collection that freed device memory, and 50 scans that found unreachable device memory"
function searches(records: readonly Collection[]): string {
    const scans = records.filter(({ scan }) => scan).length;
    const collections = records.length - scans;
    return [
        ...(collections > 0 ? [`${counted(collections, "collection")} that freed device memory`] : []),
        ...(scans > 0 ? [`${counted(scans, "scan")} that found unreachable device memory`] : []),
    ].join(", and ");
}

function collectionTable({ collections }: Report): HTMLElement[] {
    if (collections.length === 0) {
        return [];
    }
    const shown = collections.slice(-MOST_COLLECTIONS);
    const numbers = ["Generation", "Start", "Duration", "Overhead", "Unreachable", "Owners", "Bytes"];
    const columns = [
        { title: "Number", number: true },
        { title: "Kind" },
        ...numbers.map((title) => ({ title, number: true })),
        { title: "Note" },
    ];
    const caption =
        "Collections and scans that found unreachable owners of device memory. A collection frees these bytes, " +
        "a scan does not.";
    const table = scrollingTable(caption, columns, shown.map(collectionRow));
    const rest = collections.length - shown.length;
    const older = rest > 0 ? [make("p", { class: "more" }, `${counted(rest, "earlier row")} not shown`)] : [];
    return [make("details", {}, make("summary", {}, searches(collections)), table, ...older)];
}

export function footer(report: Report, texts: Texts): HTMLElement {
    const made = make("footer", {}, make("p", { class: "overhead" }, cleanText(texts.overhead)));
    if (texts.notes.length > 0) {
        const notes = texts.notes.map((note) => make("li", {}, truncateEnd(cleanText(note), LONGEST_NOTE)));
        made.append(make("ul", { class: "notes", "aria-label": "Notes" }, ...notes));
    }
    made.append(
        ...collectionTable(report),
        make("p", {}, truncateEnd(cleanText(texts.processes), LONGEST_PROCESSES)),
        make("div", { id: "settings", hidden: true }),
    );
    return made;
}
