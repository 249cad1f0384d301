// SPDX-License-Identifier: Apache-2.0
// The memory of one process on one device over its steps, divided by use. Counters show the totals in
// each step; censuses and accounts show the categories of live tensors; collections show how much was
// dead.
import type { Collection, MemorySteps, Report } from "../report/schema";
import { categoriesOf, knotsOf, measuredAt, type Measured } from "./knots";

export interface Point {
    at: number; // seconds since the watch began
    step: number; // possibly between two steps
    measured?: Measured; // missing if there are no categories
    inUse: number;
    peak?: number; // the most that torch had allocated at one time
    sizes: number[]; // by layer
}

export interface Layer {
    kind: string; // of a line of an account, or "live", "resident"
    name: string;
}

export interface Stack {
    process: number;
    device: string;
    layers: Layer[]; // from bottom to top
    points: Point[];
    censuses: boolean; // or accounts
}

// Values of a column at any time, interpolated between `times`.
export function interpolate(times: readonly number[], values: readonly number[], at: number): number {
    const next = times.findIndex((time) => time >= at);
    if (next <= 0) {
        return (next === 0 ? values[0] : values.at(-1)) ?? 0;
    }
    const [from, to] = [times[next - 1] ?? 0, times[next] ?? 0];
    const [before, after] = [values[next - 1] ?? 0, values[next] ?? 0];
    return to > from ? before + ((after - before) * (at - from)) / (to - from) : after;
}

// The bytes that the collections will free: each collection's share grows evenly since the previous
// collection of the same objects, because nothing shows when between the two they became unreachable.
export function deadAt(collections: readonly Collection[], at: number, after: boolean): number {
    return collections.reduce((sum, { started_at: end, dead_for_at_most: waited, released_bytes: bytes }) => {
        if (at > end || (at === end && after) || at < end - waited) {
            return sum;
        }
        return sum + (waited > 0 ? (bytes * (at - (end - waited))) / waited : bytes);
    }, 0);
}

function collectionsOf(report: Report, steps: MemorySteps): Collection[] {
    return report.collections.filter(
        ({ process, scan, device_memory: memory, released_bytes: bytes }) =>
            process === steps.process &&
            !scan &&
            bytes > 0 &&
            (memory.length === 0 || memory.some(({ device }) => device === steps.device)),
    );
}

interface Moment {
    at: number;
    after: boolean; // a collection at this time has freed the objects
}

function moments(steps: MemorySteps, exact: readonly number[], collections: readonly Collection[]): Moment[] {
    const [first = 0, last = 0] = [steps.times[0], steps.times.at(-1)];
    const found = [
        ...steps.times.map((at) => ({ at, after: false })),
        ...collections.flatMap(({ started_at: at, dead_for_at_most: waited }) => [
            { at: at - waited, after: true },
            { at, after: false },
            { at, after: true },
        ]),
    ];
    // What was measured after the last step is drawn there.
    return found
        .filter(({ at }) => at >= first && at <= Math.max(last, first))
        .concat(exact.map((at) => ({ at, after: false })))
        .sort((a, b) => a.at - b.at || Number(a.after) - Number(b.after));
}

export function stackOf(report: Report, steps: MemorySteps): Stack {
    const collections = collectionsOf(report, steps);
    const isCpu = steps.allocated.every((bytes) => bytes === 0);
    const knots = knotsOf(report, steps);
    const censuses = knots.length > 0;
    const column = (values: readonly number[], at: number): number => interpolate(steps.times, values, at);
    const exact = knots.map(({ at }) => at);
    const categories = categoriesOf(knots);
    const ordered = steps.steps.every((step, i) => i === 0 || step >= (steps.steps[i - 1] ?? 0));
    // In steps rather than seconds, because a slow step does not create more objects than a fast one.
    const along = (at: number): number => (ordered ? column(steps.steps, at) : at);
    const ramps = collections.map((record) => {
        const end = along(record.started_at);
        return { ...record, started_at: end, dead_for_at_most: end - along(record.started_at - record.dead_for_at_most) };
    });
    const all = moments(steps, exact, collections).map(({ at, after }): Point => {
        const inUse = column(steps.in_use, at);
        const allocated = column(steps.allocated, at);
        const dead = Math.max(deadAt(ramps, along(at), after), column(steps.dead, at));
        const live = categories.map(([field]) =>
            interpolate(
                exact.map(along),
                knots.map((knot) => knot.sizes[field]),
                along(at),
            ),
        );
        const known = live.reduce((sum, bytes) => sum + bytes, dead);
        return {
            at,
            step: along(at),
            ...(censuses ? { measured: measuredAt(exact, at, along) } : {}),
            inUse,
            ...(steps.peak === undefined ? {} : { peak: column(steps.peak, at) }),
            sizes: isCpu
                ? [dead, ...live, inUse]
                : [dead, ...live, Math.max(0, allocated - known), Math.max(0, inUse - Math.max(allocated, known))],
        };
    });
    const layers: Layer[] = [
        { kind: "dead", name: "dead in cycles" },
        ...categories.map(([field, name]) => ({ kind: field.replaceAll("_", "-"), name })),
        ...(isCpu
            ? [{ kind: "resident", name: "resident memory" }]
            : [
                  { kind: "live", name: censuses ? "other allocations of torch" : "live" },
                  { kind: "cached", name: "reserved by torch, but free" },
              ]),
    ];
    const stack = { process: steps.process, device: steps.device, layers, points: all, censuses };
    return withoutEmptyLayers(stack, isCpu);
}

// On the CPU, the resident memory does not shrink when tensors are freed, and is mostly not tensors: it
// is shown only if nothing else is.
function withoutEmptyLayers(stack: Stack, isCpu: boolean): Stack {
    const used = stack.layers.map((_, i) => stack.points.some(({ sizes }) => (sizes[i] ?? 0) > 0));
    const hasTensors = used.slice(0, isCpu ? -1 : undefined).some(Boolean);
    const shown = stack.layers.map((layer, i) => used[i] === true && !(isCpu && hasTensors && layer.kind === "resident"));
    const keep = <T>(list: readonly T[]): T[] => list.filter((_, i) => shown[i]);
    return {
        ...stack,
        layers: keep(stack.layers),
        points: stack.points.map((point) => ({ ...point, sizes: keep(point.sizes) })),
    };
}

export function totalOf({ sizes }: Point): number {
    return sizes.reduce((sum, bytes) => sum + bytes, 0);
}
