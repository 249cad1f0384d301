// SPDX-License-Identifier: Apache-2.0
// Memory of one process on one device, sampled at its collections.
import type { Collection, MemorySamples, Report } from "../report/schema";

// One collection or scan: memory in use before and after it.
export interface Tooth {
    scan: boolean; // nothing was freed
    collection: number; // index into report.collections
    at: number; // seconds since the watch began, to the start of the collection
    ended: number; // the same, to its end
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
    samples?: MemorySamples; // between the collections
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
            ended: record.started_at + record.duration,
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
    const ended = at + record.duration;
    return { scan, collection, at, ended, before: released, after: 0, released, unowned: 0, waited };
}

// The highest sample shortly before a time.
function sampleBefore({ times, highest }: MemorySamples, at: number): number {
    const next = times.findIndex((time) => time > at);
    const last = (next < 0 ? times.length : next) - 1;
    return Math.max(highest[last] ?? highest[0] ?? 0, highest[last - 1] ?? 0);
}

// Samples of torch count the same as the collections do. Other samples count more than the tensors, so that the
// collections are drawn where the samples are.
function addSamples(series: Series, samples: MemorySamples): void {
    series.samples = samples;
    if (samples.source !== "allocated by torch") {
        for (const tooth of series.teeth) {
            tooth.before = sampleBefore(samples, tooth.at);
            tooth.after = Math.max(0, tooth.before - (tooth.scan ? 0 : tooth.released));
        }
    }
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
    for (const samples of report.memory_samples ?? []) {
        const { process, device } = samples;
        const key = `${process} ${device}`;
        const series = found.get(key) ?? { process, device, measured: true, teeth: [], released: 0 };
        addSamples(series, samples);
        found.set(key, series);
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
