// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { allSeries, findingsOf } from "../../src/timeline/series";
import { describe, titleOf, totals } from "../../src/timeline/timeline";
import { byteRange, byteTicks, byteTickTexts, place, timeTicks } from "../../src/timeline/scale";
import { shades, shares } from "../../src/ranks/shares";
import { golden } from "./golden";

test("makes a series for each process and device, largest first", () => {
    const report = golden();
    report.collections.slice(11).forEach((record) => (record.process = 1));
    const series = allSeries(report);
    expect(series.map(({ process, teeth }) => [process, teeth.length])).toEqual([[0, 11], [1, 1]]);
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
