// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { choose, EVERYTHING, facetCounts, isNarrowed, searchText } from "../../src/findings/choice";
import { golden } from "./golden";

const report = golden();
const texts = report.findings.map(searchText);

test("shows all findings, largest first", () => {
    expect(choose(report, texts, EVERYTHING)).toEqual([0, 1, 2]);
    expect(isNarrowed(EVERYTHING)).toBe(false);
    expect(isNarrowed({ ...EVERYTHING, search: "  " })).toBe(false);
});

test("a search matches all words in any case and order", () => {
    expect(choose(report, texts, { ...EVERYTHING, search: "NODE simple.py" })).toEqual([1]);
    expect(choose(report, texts, { ...EVERYTHING, search: "node shard" })).toEqual([]);
});

test("facets are combined", () => {
    const facets = { status: "new", device: "cuda:0" };
    expect(choose(report, texts, { ...EVERYTHING, facets })).toEqual([0, 1]);
    expect(choose(report, texts, { ...EVERYTHING, facets: { ...facets, rank: "9" } })).toEqual([]);
});

test("filters by collection", () => {
    const collection = { index: 0, findings: new Set([2]) };
    expect(choose(report, texts, { ...EVERYTHING, collection })).toEqual([2]);
});

test("sorting is stable", () => {
    const equal = { ...report, findings: report.findings.map((f) => ({ ...f, occurrences: 1 })) };
    expect(choose(equal, texts, { ...EVERYTHING, sort: "occurrences" })).toEqual([0, 1, 2]);
});

test("counts the findings for each value of a facet", () => {
    expect(facetCounts(report, "status")).toEqual(new Map([["new", 2], ["known", 1]]));
    expect([...facetCounts(report, "file").keys()]).not.toContain("");
});
