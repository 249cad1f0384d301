// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { circumstances, sortedAccounts } from "../../src/memory/account";
import { isExact } from "../../src/memory/knots";
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
    made.memory = [];
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
    const measured = points.filter((point) => isExact(point.measured ?? {}));
    expect([...new Set(measured.map(({ step }) => step))]).toEqual([102, 106]);
    const at4 = points.find(({ step }) => step === 104);
    expect(at4?.sizes.map((size) => size / MIB)).toEqual([10, 4, 26, 10]);
    expect(describePoint(stack(made), first(measured))).toBe(
        "Step 102: 10.0 MiB parameters, 30.0 MiB other allocations of torch, 10.0 MiB reserved by torch, but free; " +
            "50.0 MiB reserved. Categories are exact: they were measured here.",
    );
    const words = (step: number): string =>
        describePoint(stack(made), first(points.filter((point) => point.step === step))).replace(/.*reserved[.] /, "");
    expect(words(101)).toBe(
        "Categories are unknown before the first measurement in step 102, whose values are shown.",
    );
    expect(words(103)).toBe("Categories are interpolated between the measurements in steps 102 and 106.");
    expect(words(108)).toBe("Categories are unknown after the last measurement in step 106, whose values are shown.");
});

test("an account is as exact as a census, also after the last step", () => {
    const line = (kind: string, mib: number): { kind: string; use: string; bytes: number } => ({ kind, use: "", bytes: mib * MIB });
    const account = (at: number, ...lines: MemoryAccount["lines"]): MemoryAccount => ({
        process: 0, device: "cuda:0", occasion: "request", at, step: at === 4 ? 103 : -1, in_use: 1, total: 0, source: "", peak: 0,
        headline: "", lines, signatures: [], holders: [], notes: [],
    });
    const made = report({});
    made.memory = [account(9, line("optimizer state", 12)), account(4, line("optimizer state", 4), line("rest", 1))];
    const { layers, points } = stack(made);
    expect(layers.map(({ kind }) => kind)).toEqual(["optimizer-state", "live", "cached"]);
    const sizes = new Map(points.map(({ at, sizes: [state] }) => [at, (state ?? 0) / MIB]));
    expect([0, 3, 9].map((at) => sizes.get(at))).toEqual([4, 4, 12]);
    expect(points.at(-1)?.step).toBe(108);
    const exact = points.filter(({ measured }) => isExact(measured ?? {}));
    expect([...new Set(exact.map(({ step }) => step))]).toEqual([103, 108]);

    made.memory = [account(9, line("other", 12), line("held by C++", 3)), account(4, line("other", 1))];
    const others = stack(made);
    expect(others.layers[0]?.kind).toBe("other");
    expect((others.points.at(-1)?.sizes[0] ?? 0) / MIB).toBe(15);

    made.memory = [account(9, line("other", 12))];
    expect(stack(made).censuses).toBe(false);
});

test("the peak of torch is shown if it is known", () => {
    const peak = [41, 41, 45, 45, 45, 45, 45, 45, 45].map((mib) => mib * MIB);
    const made = stack(report({ peak }));
    expect(describePoint(made, first(made.points.filter(({ step }) => step === 103)))).toBe(
        "Step 103: 40.0 MiB live, 10.0 MiB reserved by torch, but free; 50.0 MiB reserved; " +
            "at most 45.0 MiB allocated at one time so far.",
    );
    const without = stack(report({}));
    expect(describePoint(without, first(without.points))).not.toContain("allocated at one time");
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
        headline: "", lines: [], signatures: [], holders: [], notes: [],
    });
    const made = golden();
    made.memory = [account("end"), account("request"), account("out of memory")];
    expect(sortedAccounts(made).map(({ occasion }) => occasion)).toEqual(["out of memory", "end", "request"]);
    expect(circumstances(made, account("end"))).toBe("cpu, when the program ended, 3.0 s into the run, step 7");
});
