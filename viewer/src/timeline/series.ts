// SPDX-License-Identifier: Apache-2.0
// Memory of one process on one device, sampled at its collections.
import type { Collection, Report } from "../report/schema";

// One collection or scan: memory in use before and after it.
export interface Tooth {
    scan: boolean; // nothing was freed
    collection: number; // index into report.collections
    at: number; // seconds since the watch began
    before: number;
    after: number;
    released: number; // bytes retained by cycles: freed, or found by a scan
    unowned: number; // bytes freed in addition that no tensor explains
    waited: number; // seconds they were unreachable, at most
}

export interface Series {
    process: number;
    device: string;
    // False: the memory in use is unknown, and `before` is the freed memory or the found memory.
    measured: boolean;
    teeth: Tooth[];
    released: number;
}

function tooth(record: Collection, collection: number, device: string): Tooth | undefined {
    const memory = record.device_memory.find((sample) => sample.device === device);
    return (
        memory && {
            scan: record.scan,
            collection,
            at: record.started_at,
            before: memory.used_before,
            after: memory.used_after,
            released: record.released_bytes,
            unowned: memory.unowned_bytes ?? 0,
            waited: record.dead_for_at_most,
        }
    );
}

function unmeasured(record: Collection, collection: number): Tooth {
    const released = record.released_bytes;
    const waited = record.dead_for_at_most;
    const { scan, started_at: at } = record;
    return { scan, collection, at, before: released, after: 0, released, unowned: 0, waited };
}

// Sorted by freed memory, largest first.
export function allSeries(report: Report): Series[] {
    const found = new Map<string, Series>();
    const add = (record: Collection, device: string, measured: boolean, made: Tooth): void => {
        const key = `${record.process} ${device}`;
        let series = found.get(key);
        if (series === undefined) {
            series = { process: record.process, device, measured, teeth: [], released: 0 };
            found.set(key, series);
        }
        series.teeth.push(made);
        series.released += record.released_bytes;
    };
    for (const [index, record] of report.collections.entries()) {
        for (const { device } of record.device_memory) {
            const made = tooth(record, index, device);
            if (made !== undefined) {
                add(record, device, true, made);
            }
        }
        if (record.device_memory.length === 0) {
            add(record, "", false, unmeasured(record, index));
        }
    }
    for (const series of found.values()) {
        series.teeth.sort((a, b) => a.at - b.at);
    }
    return [...found.values()].sort((a, b) => b.released - a.released);
}

// Indexes of the findings of a collection.
export function findingsOf(report: Report, collection: number): Set<number> {
    const signatures = new Set(report.collections[collection]?.findings.map((part) => part.signature));
    const found = new Set<number>();
    for (const [index, finding] of report.findings.entries()) {
        if (signatures.has(finding.signature)) {
            found.add(index);
        }
    }
    return found;
}
