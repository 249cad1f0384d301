// SPDX-License-Identifier: Apache-2.0
// Compares the memory of the processes of a job over time.
import type { MemorySamples, Report } from "../report/schema";

export interface Line {
    process: number;
    device: string;
    times: number[];
    bytes: number[];
    samples: number; // from which `bytes` are read
}

export interface Comparison {
    lines: Line[]; // by distance from the median, the largest first
    distances: number[]; // parallel: mean bytes
    median: Line;
    end: number; // the last index at which enough processes run to compare them
    similar: boolean; // no line is far from the median, neither on average nor at the end
    diverging: boolean; // the first line differs more than the others do
    ended?: [number, number]; // when the first and the last process ended, if that differs
}

const POINTS = 200;
const FEWEST_RANKS = 3; // with two, the median does not tell which one differs
// The distance of a diverging process: a share of the median, and a multiple of the distance of a typical process.
const NOTABLE = 0.05;
const UNUSUAL = 4;
const UNEQUAL = 0.1; // a share of the duration

// The samples of each process: those of a GPU, or else those of the CPU.
function samplesByProcess(report: Report): MemorySamples[] {
    const found = new Map<number, MemorySamples>();
    for (const samples of report.memory_samples ?? []) {
        const known = found.get(samples.process);
        if (samples.times.length > 0 && (known === undefined || known.device === "cpu")) {
            found.set(samples.process, samples);
        }
    }
    return mostAlike([...found.values()]);
}

// The samples that most processes have: others count something else and cannot be compared with them.
function mostAlike(all: readonly MemorySamples[]): MemorySamples[] {
    const groups = new Map<string, MemorySamples[]>();
    for (const samples of all) {
        groups.set(samples.source, [...(groups.get(samples.source) ?? []), samples]);
    }
    return [...groups.values()].sort((a, b) => b.length - a.length)[0] ?? [];
}

function valueAt({ times, highest }: MemorySamples, at: number): number {
    const next = times.findIndex((time) => time > at);
    return highest[next < 0 ? highest.length - 1 : Math.max(0, next - 1)] ?? 0;
}

function medianOf(values: readonly number[]): number {
    const sorted = [...values].sort((a, b) => a - b);
    const middle = sorted.length / 2;
    return ((sorted[Math.ceil(middle - 1)] ?? 0) + (sorted[Math.floor(middle)] ?? 0)) / 2;
}

function meanOf(values: readonly number[]): number {
    return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
}

// Undefined unless at least two processes have samples.
export function compare(report: Report): Comparison | undefined {
    const samples = samplesByProcess(report);
    if (samples.length < 2) {
        return undefined;
    }
    const ends = samples.map(({ times }) => times.at(-1) ?? 0);
    const [from, until] = [Math.min(...ends), Math.max(...ends)];
    const times = Array.from({ length: POINTS }, (_, i) => (until * i) / (POINTS - 1));
    // Each line ends with its process, and is compared with those that have not ended.
    const lines = samples.map((each): Line => {
        const own = times.filter((at) => at <= (each.times.at(-1) ?? 0) + 1e-9);
        const bytes = own.map((at) => valueAt(each, at));
        return { process: each.process, device: each.device, times: own, bytes, samples: each.times.length };
    });
    const median: Line = {
        process: -1,
        device: "",
        samples: 0,
        times,
        bytes: times.map((_, i) => medianOf(lines.flatMap(({ bytes }) => bytes.slice(i, i + 1)))),
    };
    // Once fewer processes run, the median does not tell which one differs.
    const enough = Math.min(FEWEST_RANKS, lines.length);
    const compared = lines.map(({ bytes }) => bytes.length).sort((a, b) => b - a)[enough - 1] ?? 0;
    const distance = ({ bytes }: Line): number =>
        meanOf(bytes.slice(0, compared).map((value, i) => Math.abs(value - (median.bytes[i] ?? 0))));
    const sorted = lines.map((line) => ({ line, far: distance(line) })).sort((a, b) => b.far - a.far);
    const distances = sorted.map(({ far }) => far);
    const [largest = 0] = distances;
    const notable = NOTABLE * meanOf(median.bytes.slice(0, compared));
    const isFarAtEnd = ({ bytes }: Line): boolean => {
        const at = Math.min(compared, bytes.length) - 1;
        return Math.abs((bytes[at] ?? 0) - (median.bytes[at] ?? 0)) > notable;
    };
    const similar = largest <= notable && !lines.some(isFarAtEnd);
    const diverging =
        lines.length >= FEWEST_RANKS && largest > notable && largest > UNUSUAL * medianOf(distances);
    const ended: Comparison["ended"] = until - from > UNEQUAL * until ? [from, until] : undefined;
    return { lines: sorted.map(({ line }) => line), distances, median, end: compared - 1, similar, diverging, ...(ended ? { ended } : {}) };
}
