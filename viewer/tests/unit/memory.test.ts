// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { circumstances, sortedAccounts } from "../../src/memory/account";
import { deadAt, stackOf, totalOf } from "../../src/memory/steps";
import { describePoint } from "../../src/memory/over_steps";
import type { CategorySizes, Collection, MemoryAccount, MemorySteps, Report } from "../../src/report/schema";
import { golden } from "./golden";

const MIB = 2 ** 20;

function first<T>(list: readonly T[] | undefined): T {
    const one = list?.[0];
    if (one === undefined) {
        throw new Error("the list is empty");
    }
    return one;
}

// A step each second; `collections`: time and MiB freed, unreachable for at most 4 seconds.
function report(steps: Partial<MemorySteps>, collections: [number, number][] = []): Report {
    const made = golden();
    const template = first(made.collections);
    made.collections = collections.map(
        ([at, freed], i): Collection => ({
            ...template,
            number: i + 1,
            started_at: at,
            dead_for_at_most: 4,
            released_bytes: freed * MIB,
            device_memory: [],
            scan: false,
        }),
    );
    const times = [0, 1, 2, 3, 4, 5, 6, 7, 8];
    made.memory_steps = [
        {
            process: 0,
            device: "cuda:0",
            steps: times.map((time) => 100 + time),
            times,
            in_use: times.map(() => 50 * MIB),
            allocated: times.map(() => 40 * MIB),
            dead: times.map(() => 0),
            censuses: [],
            ...steps,
        },
    ];
    return made;
}

function stack(made: Report): ReturnType<typeof stackOf> {
    return stackOf(made, first(made.memory_steps));
}

test("dead bytes grow until the collection that frees them", () => {
    const { collections } = report({}, [[4, 8], [8, 4]]);
    expect([0, 2, 4].map((at) => deadAt(collections, at, false) / MIB)).toEqual([0, 4, 8]);
    expect(deadAt(collections, 4, true) / MIB).toBe(0);
    expect([6, 8].map((at) => deadAt(collections, at, false) / MIB)).toEqual([2, 4]);
    expect(deadAt(collections, 9, false)).toBe(0);
});

test("the layers of a CUDA device add up to the reserved memory at every point", () => {
    const { layers, points } = stack(report({}, [[4, 8], [8, 4]]));
    expect(layers.map(({ kind }) => kind)).toEqual(["dead", "live", "cached"]);
    for (const point of points) {
        expect(totalOf(point)).toBe(50 * MIB);
    }
    const here = points.filter(({ at }) => at === 4);
    const [before, after] = [here[0], here.at(-1)];
    expect(before?.sizes.map((size) => size / MIB)).toEqual([8, 32, 10]);
    expect(after?.sizes.map((size) => size / MIB)).toEqual([0, 40, 10]);
});

test("categories are exact at censuses and interpolated between them", () => {
    const zero = { parameter: 0, gradient: 0, optimizer_state: 0, saved_for_backward: 0, activation: 0, other: 0 };
    const census = (at: number, parameter: number, other: number): CategorySizes => ({
        ...zero,
        step: 100 + at,
        at,
        parameter: parameter * MIB,
        other: other * MIB,
    });
    const made = report({ censuses: [census(2, 10, 0), census(6, 10, 8)] });
    const { layers, points } = stack(made);
    expect(layers.map(({ kind }) => kind)).toEqual(["parameter", "other", "live", "cached"]);
    expect(points.filter(({ exact }) => exact).map(({ step }) => step)).toEqual([102, 106]);
    const at4 = points.find(({ step }) => step === 104);
    expect(at4?.sizes.map((size) => size / MIB)).toEqual([10, 4, 26, 10]);
    const exact = first(points.filter((point) => point.exact));
    expect(describePoint(stack(made), exact)).toBe(
        "Step 102: 10.0 MiB parameters, 30.0 MiB other allocations of torch, 10.0 MiB reserved by torch, but free; " +
            "50.0 MiB reserved. Categories are exact: a census was taken here.",
    );
});

test("the chart of a CPU shows tensors, and the resident memory only if there are none", () => {
    const cpu = { device: "cpu", allocated: new Array<number>(9).fill(0) };
    expect(stack(report(cpu, [[4, 8]])).layers.map(({ kind }) => kind)).toEqual(["dead"]);
    expect(stack(report(cpu)).layers.map(({ kind }) => kind)).toEqual(["resident"]);
    const scanned = report({ ...cpu, dead: [0, 1, 2, 3, 4, 5, 6, 7, 8].map((n) => n * MIB) });
    expect(stack(scanned).points.map(totalOf)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8].map((n) => n * MIB));
});

test("the account of an out-of-memory error is shown first", () => {
    const account = (occasion: MemoryAccount["occasion"]): MemoryAccount => ({
        process: 0, device: "cpu", occasion, at: 3, step: 7, in_use: 1, total: 0, source: "", peak: 0,
        headline: "", lines: [], signatures: [], holders: [],
    });
    const made = golden();
    made.memory = [account("end"), account("request"), account("out of memory")];
    expect(sortedAccounts(made).map(({ occasion }) => occasion)).toEqual(["out of memory", "end", "request"]);
    expect(circumstances(made, account("end"))).toBe("cpu, when the program ended, 3.0 s into the run, step 7");
});
