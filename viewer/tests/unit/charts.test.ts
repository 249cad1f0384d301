// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { compare, type Comparison } from "../../src/ranks/diverging";
import { summary } from "../../src/ranks/overlay";
import type { Report } from "../../src/report/schema";
import { stretchesOf } from "../../src/timeline/curve";
import { marksOf, textAnchors } from "../../src/timeline/marks";
import { allSeries, findingsOf } from "../../src/timeline/series";
import { describe, overview, titleOf, totals } from "../../src/timeline/timeline";
import { byteRange, byteTicks, byteTickTexts, place, timeTicks, timeTickText } from "../../src/timeline/scale";
import { shades, shares } from "../../src/ranks/shares";
import { golden } from "./golden";

test("makes a series for each process and device with collections or samples, largest first", () => {
    const report = golden();
    report.collections.slice(11).forEach((record) => (record.process = 1));
    const series = allSeries(report);
    expect(series.map(({ process, teeth }) => [process, teeth.length])).toEqual([[0, 11], [1, 1], [0, 0]]);
    expect(series[0]?.teeth[0]).toMatchObject({ at: 0.5, before: 700448768, after: 671088640 });
});

test("shows the freed memory if the memory in use is unknown", () => {
    const report = golden();
    report.collections.forEach((record) => (record.device_memory = []));
    const [series] = allSeries(report);
    expect(series?.measured).toBe(false);
    expect(series?.teeth[0]).toMatchObject({ before: report.collections[0]?.released_bytes, after: 0 });
});

test("a collection that freed more than the tensors says so", () => {
    const report = golden();
    const memory = report.collections[0]?.device_memory[0];
    if (memory !== undefined) {
        memory.unowned_bytes = 3 * 2 ** 30;
    }
    const [series] = allSeries(report);
    const texts = series?.teeth.map((tooth) => describe(report, series, tooth)) ?? [];
    expect(texts[0]).toContain("a further 3.0 GiB freed that no tensor explains, most likely saved for backward");
    expect(texts.slice(1).join()).not.toContain("a further");
});

test("finds the findings of a collection", () => {
    expect([...findingsOf(golden(), 8)]).toEqual([0, 2]);
    expect([...findingsOf(golden(), 99)]).toEqual([]);
});

test("ticks are round and within the range", () => {
    expect(timeTicks(0, 34.5, 7)).toEqual([0, 5, 10, 15, 20, 25, 30]);
    expect(timeTicks(0, 0, 7)).toEqual([]);
    expect(byteTicks(0, 900 * 2 ** 20, 4)).toEqual([0, 500 * 2 ** 20]);
    expect(byteTicks(0, 2 ** 30 * 3, 4)).toEqual([0, 1, 2, 3].map((gib) => gib * 2 ** 30));
});

test("time labels are distinct", () => {
    expect(timeTicks(0, 220, 8).map(timeTickText)).toEqual([
        "0 s", "30.0 s", "60.0 s", "90.0 s", "2 min", "2.5 min", "3 min", "3.5 min",
    ]);
});

test("tick labels are distinct", () => {
    const mib = 2 ** 20;
    expect(byteTickTexts([0, 500 * mib])).toEqual(["0 B", "500 MiB"]);
    expect(byteTickTexts([228, 228.5, 229].map((n) => n * mib))).toEqual([
        "228.0 MiB",
        "228.5 MiB",
        "229.0 MiB",
    ]);
    expect(byteTickTexts([5000, 5000.05].map((n) => n * mib * 1024))).toEqual(["4.8828 TiB", "4.8829 TiB"]);
    expect(byteTickTexts([])).toEqual([]);
});

test("the byte axis starts at zero unless changes would be invisible", () => {
    expect(byteRange(100, 1000)).toEqual([0, 1000]);
    const [from] = byteRange(900 * 2 ** 20, 1000 * 2 ** 20);
    expect(from).toBeGreaterThan(700 * 2 ** 20);
    expect(from).toBeLessThan(900 * 2 ** 20);
});

test("positions are clamped to the scale", () => {
    const scale = { from: 0, to: 10, start: 100, end: 200 };
    expect([-5, 0, 5, 10, 99].map((value) => place(scale, value))).toEqual([100, 100, 150, 200, 200]);
    expect(place({ ...scale, to: 0 }, 3)).toBe(100);
});

test("a pixel shows the largest value of its columns", () => {
    expect(shares([0, 0.5, 1, 0], 2)).toEqual([0.5, 1]);
    expect(shares([0.1, 0.2], 100)).toEqual([0.1, 0.2]);
    expect(shades(0)).toBe(0);
    expect(shades(0.0001)).toBeGreaterThan(0.15);
    expect(shades(2)).toBe(1);
});

test("scans are not called collections", () => {
    const teeth = allSeries(golden())[0]?.teeth.slice(0, 3) ?? [];
    expect(totals(teeth)).toMatch(/^3 collections freed [\d.]+ [KMG]iB$/);
    expect(titleOf(teeth)).toBe("Memory freed by collections");
    const scanned = teeth.map((tooth, i) => ({ ...tooth, scan: i > 0, released: 2 ** 20 }));
    expect(totals(scanned)).toBe("1 collection freed 1.0 MiB, and 2 scans found 2.0 MiB");
    expect(titleOf(scanned)).toBe("Unreachable memory over the run");
    expect(titleOf(scanned.slice(1))).toBe("Unreachable memory found by scans");
});

function withSamples(report: Report, device: string, source: string): Report {
    const times = [0, 8, 16, 24, 32];
    const highest = [1e9, 2e9, 3e9, 2e9, 3e9];
    report.memory_samples = [{ process: 0, device, source, times, lowest: highest, highest }];
    return report;
}

test("samples of torch fill the gaps between the collections", () => {
    const [series] = allSeries(withSamples(golden(), "cuda:0", "allocated by torch"));
    expect(series?.teeth[0]).toMatchObject({ before: 700448768, after: 671088640 });
    const stretches = series ? stretchesOf(series) : [];
    expect(stretches).toHaveLength(12 * 2 + 5);
    expect(stretches.map(({ at }) => at)).toEqual(stretches.map(({ at }) => at).sort((a, b) => a - b));
});

test("a collection is drawn at the height of samples that count other memory", () => {
    const report = withSamples(golden(), "cuda:0", "resident memory");
    const [series] = allSeries(report);
    const released = report.collections[11]?.released_bytes ?? 0;
    expect(series?.teeth[11]).toMatchObject({ at: 28, before: 3e9, after: 3e9 - released });
});

test("samples during a collection do not interrupt its drop", () => {
    const report = withSamples(golden(), "cuda:0", "allocated by torch");
    report.collections.forEach((record) => (record.duration = 0));
    const all = allSeries(report).map(stretchesOf)[0]?.length ?? 0;
    for (const record of report.collections) {
        record.duration = record.started_at < 16 && record.started_at > 13 ? 16.1 - record.started_at : 0;
    }
    expect(report.collections.some(({ duration }) => duration > 0)).toBe(true);
    const [series] = allSeries(report);
    expect(series && stretchesOf(series).map(({ at }) => at)).not.toContain(16);
    report.collections.forEach((record) => (record.scan = true)); // a scan frees nothing
    expect(allSeries(report).map(stretchesOf)[0]).toHaveLength(all);
});

test("a device with samples has a series without collections", () => {
    const series = allSeries(withSamples(golden(), "cuda:7", "allocated by torch"));
    expect(series.at(-1)).toMatchObject({ device: "cuda:7", teeth: [], measured: true });
});

test("without freed memory, the timeline says what was not examined", () => {
    const report = withSamples(golden(), "cuda:7", "allocated by torch");
    const series = allSeries(report).at(-1);
    if (series === undefined) {
        throw new Error("no series");
    }
    const [process] = report.processes;
    report.stats.skipped = {};
    report.omitted_collections = 0;
    report.processes = process === undefined ? [] : [{ ...process, unexamined: "" }];
    expect(overview(report, series)).toBe("No collection has freed memory kept alive by cycles on this device.");
    report.stats.skipped = { "collections not searched for tensors: over budget": 12, "census: over budget": 3 };
    expect(overview(report, series)).toBe(
        "No collection that was examined has freed memory kept alive by cycles on this device. " +
            "Not examined: 12 collections (over budget).",
    );
    report.omitted_collections = 1;
    report.processes = process === undefined ? [] : [{ ...process, unexamined: "the objects in older generations" }];
    expect(overview(report, series)).toContain(
        "Not examined: 12 collections (over budget); 1 collection (omitted to limit the size of the report); the objects in older generations.",
    );
});

test("steps are marked at round numbers, and an out-of-memory error on its device", () => {
    const report = golden();
    const [recorded] = report.memory_steps ?? [];
    const [account] = report.memory ?? [];
    if (recorded === undefined || account === undefined) {
        throw new Error("the sample report has no steps or no account");
    }
    recorded.steps = [1, 99, 100, 150, 200, 203];
    recorded.times = [1, 2, 3, 4, 5, 6];
    report.memory = [{ ...account, occasion: "out of memory", device: "cuda:0", at: 7 }];
    expect(marksOf(report, 0, "cuda:0", 4)).toEqual([
        { at: 3, text: "step 100", kind: "step" },
        { at: 5, text: "step 200", kind: "step" },
        { at: 7, text: "out of memory", kind: "oom" },
    ]);
    expect(marksOf(report, 0, "cpu", 4)).toHaveLength(2);
    expect(marksOf(report, 1, "cuda:0", 4)).toEqual([]);
});

test("the texts of marks do not overlap", () => {
    const x = { from: 0, to: 100, start: 0, end: 1000 };
    const step = (at: number) => ({ at, text: "step 10", kind: "step" as const });
    const oom = (at: number) => ({ at, text: "out of memory", kind: "oom" as const });
    // The text of a step is 53 pixels wide, that of an error 95.
    expect(textAnchors([step(50), step(52), step(55), step(60)], x)).toEqual(["start", null, null, "start"]);
    expect(textAnchors([step(50), step(54), step(57)], x)).toEqual(["start", null, "start"]);
    expect(textAnchors([step(88), step(96), step(99)], x)).toEqual(["start", null, "end"]);
    // An error comes first. The text of a step may be on the other side of its line.
    expect(textAnchors([step(50), oom(51)], x)).toEqual(["end", "start"]);
    expect(textAnchors([step(94), oom(99)], x)).toEqual([null, "end"]);
    expect(textAnchors([step(50), oom(48)], x)).toEqual([null, "start"]);
});

// Processes that hold the given bytes all the time.
function job(...sizes: number[]): Report {
    const report = golden();
    report.processes = sizes.map((_, rank) => ({ ...report.processes[0], rank, hostname: "" }) as Report["processes"][number]);
    report.memory_samples = sizes.map((bytes, process) => ({
        process,
        device: `cuda:${process}`,
        source: "allocated by torch",
        times: [0, 1, 2],
        lowest: [bytes, bytes, bytes],
        highest: [bytes, bytes, bytes],
    }));
    return report;
}

test("the process that differs from the others comes first", () => {
    const comparison = compare(job(100, 101, 180, 102));
    expect(comparison?.diverging).toBe(true);
    expect(comparison?.lines[0]?.process).toBe(2);
    expect(comparison?.median.bytes[0]).toBe(101.5);
});

test("processes that end at different times are compared as long as they run", () => {
    const report = job(100, 101, 102, 103);
    const [longest] = report.memory_samples ?? [];
    if (longest === undefined) {
        throw new Error("no samples");
    }
    // The first differs only after the others have ended, the last from the second second on.
    report.memory_samples?.slice(1).forEach((samples, i) => {
        samples.times = [0, 10, 20];
        samples.highest = i < 2 ? [100, 100, 100] : [100, 400, 400];
    });
    longest.times = [0, 3, 6];
    const comparison = compare(report);
    expect(comparison?.ended).toEqual([6, 20]);
    expect(comparison?.diverging).toBe(true);
    expect(comparison?.lines[0]?.process).toBe(3);
    expect(comparison?.lines.find(({ process }) => process === 0)?.times.at(-1)).toBeLessThanOrEqual(6);
    expect(comparison === undefined ? "" : summary(report, comparison)).toMatch(
        /^Rank 3, cuda:3 differs from the other 3 processes: .* The processes ended at different times, after 6.0 s to 20.0 s; each is compared with those that had not ended.$/i,
    );
    expect(compare(job(100, 101, 102))?.ended).toBeUndefined();

    // Processes that have ended do not lower the median, and a tenth of the time is not unequal.
    const ending = (...ends: number[]): Comparison | undefined => {
        const made = job(...ends.map(() => 100));
        made.memory_samples?.forEach((samples, i) => {
            samples.times = [0, 1, ends[i] ?? 0];
            samples.highest = [100, 100, 100];
        });
        return compare(made);
    };
    expect(ending(5, 5, 20)?.distances).toEqual([0, 0, 0]);
    expect(ending(5, 5, 20)?.ended).toEqual([5, 20]);
    expect(ending(18.5, 19, 20)?.ended).toBeUndefined();
});

// The sentence about processes with the given bytes at each tenth of a second.
function summaryOf(lines: number[][]): string {
    const report = job(...lines.map(() => 0));
    report.memory_samples?.forEach((samples, process) => {
        samples.highest = lines[process] ?? [];
        samples.times = samples.highest.map((_, i) => i / 10);
    });
    const comparison = compare(report);
    return comparison === undefined ? "" : summary(report, comparison);
}

test("a process that runs longer is not compared with itself", () => {
    const long = [100, 130, 140, 150, 160, 170, 180, 190, 200];
    expect(summaryOf([[100, 100, 100], [102, 102, 102], long])).toMatch(
        /^rank 2, cuda:2 differs from .*; after 197 ms 130 B, the median 102 B\. The processes ended at different times/i,
    );
});

test("processes are called similar only if there is enough to compare", () => {
    const steady = (bytes: number, count: number): number[] => Array.from({ length: count }, () => bytes);
    // The last one grows, but the others are not steady either.
    expect(summaryOf([[90, 110, 100, 90, 110, 110], [110, 90, 90, 100, 100, 100], [90, 100, 110, 120, 150, 150]])).toMatch(
        /^Rank 2, cuda:2 is farthest from the median: \d+ B on average, at the end 150 B\. This is too little to tell whether it differs from the others: a process has 6 samples\.$/i,
    );
    expect(summaryOf([100, 101, 102].map((size) => steady(size, 30)))).toMatch(/^No process differs much from the others/);
    expect(summaryOf([100, 101, 102].map((size) => steady(size, 29)))).toMatch(/ This is too little to tell .*: a process has 29 samples\.$/);
    expect(summaryOf([100, 200, 300, 400].map((size) => steady(size, 30)))).toMatch(
        /^The processes differ, but none much more than the others: Rank [03], cuda:[03] is farthest from the median, 150 B on average, at the end [14]00 B\.$/i,
    );
    // On average, the last one differs little.
    const late = [...steady(100, 98), 130, 140];
    expect(summaryOf([steady(100, 100), steady(102, 100), steady(104, 100), late])).toMatch(/^The processes differ, but none/);
});

test("only samples of the same kind are compared", () => {
    const report = job(100, 101, 102, 900);
    report.memory_samples?.slice(3).forEach((samples) => (samples.source = "resident memory"));
    const comparison = compare(report);
    expect(comparison?.lines.map(({ process }) => process).sort()).toEqual([0, 1, 2]);
    expect(comparison?.diverging).toBe(false);
});

test("small differences, two processes and single processes are not highlighted", () => {
    expect(compare(job(100, 101, 103, 102))?.diverging).toBe(false);
    expect(compare(job(100, 200, 300, 400))?.diverging).toBe(false); // no typical process
    expect(compare(job(100, 900))?.diverging).toBe(false);
    expect(compare(job(100))).toBeUndefined();
});
