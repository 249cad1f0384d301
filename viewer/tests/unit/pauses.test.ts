// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { describeCell, fewerRows, gridOf, type Grid } from "../../src/ranks/pauses";
import type { CollectionSteps, Report } from "../../src/report/schema";
import { golden } from "./golden";

// Two ranks; the memory of the first was sampled in steps 238 and 239.
function pair(changes: Partial<CollectionSteps> = {}): Report {
    const report = golden();
    report.processes = [0, 1].map((rank) => ({ ...report.processes[0], rank }) as Report["processes"][0]);
    const steps = { process: 0, first_step: 0, last_step: 239, elapsed: 1, every: 1, shorter_than: 0 };
    report.collection_steps = [
        { ...steps, steps: [0, 1, 239], seconds: [1, 2, 4], freed_bytes: [0, 8, 0], ...changes },
        { ...steps, process: 1, steps: [2], seconds: [0.5], freed_bytes: [0] },
    ];
    return report;
}

function grid(report: Report): Grid {
    const found = gridOf(report);
    if (found === undefined) {
        throw new Error("the report has no grid");
    }
    return found;
}

test("a report of one process has no grid", () => {
    const report = pair();
    report.collection_steps?.pop();
    expect(gridOf(report)).toBeUndefined();
    delete report.collection_steps;
    expect(gridOf(report)).toBeUndefined();
});

test("the values of the steps in a column are added", () => {
    const { width, columns, layers } = grid(pair());
    expect([width, columns]).toEqual([2, 120]);
    expect(layers[0]?.values.map((row) => [row[0], row[1], row[119]])).toEqual([
        [3, 0, 4],
        [0, 0.5, 0],
    ]);
});

test("freed and dead memory are layers if there is any", () => {
    const report = pair();
    report.memory_steps?.forEach((steps) => (steps.dead = [16, 4]));
    expect(grid(report).layers.map(({ kind, values }) => [kind, values[0]?.[0], values[0]?.[119]])).toEqual([
        ["seconds", 3, 4],
        ["freed", 8, 0],
        ["dead", 0, 16],
    ]);
    report.memory_steps?.forEach((steps) => (steps.dead = [0, 0]));
    expect(grid(pair({ freed_bytes: [0, 0, 0] })).layers[0]?.kind).toBe("seconds");
});

test("a sample of the steps is scaled", () => {
    const report = pair({ every: 4 });
    const found = grid(report);
    expect(found.every).toBe(4);
    expect(found.layers.map((layer) => describeCell(report, found, layer, 0, 0))[0]).toBe(
        "rank 0, steps 0 to 1: about 12.0 s in collections",
    );
});

test("ranks may start and end at different steps", () => {
    const { first, last, width } = grid(pair({ first_step: 100, last_step: 199, steps: [150], seconds: [1], freed_bytes: [0] }));
    expect([first, last, width]).toEqual([0, 239, 2]);
});

test("a row of fewer rows shows the largest value", () => {
    expect(fewerRows([[1, 0], [0, 2], [3, 3]], 2)).toEqual([[1, 2], [3, 3]]);
    expect(fewerRows([[1, 0]], 5)).toEqual([[1, 0]]);
});
