// SPDX-License-Identifier: Apache-2.0
// The memory in use over time: samples, and collections, which measure before and after they free anything.
import { place, type Scale } from "./scale";
import type { Series } from "./series";

export interface Stretch {
    at: number; // seconds
    lowest: number;
    highest: number;
}

// Omits the samples during a collection, which has freed only part of its memory by then: it is drawn as one drop at its
// start.
export function stretchesOf(series: Series): Stretch[] {
    const { samples, teeth } = series;
    const sampled = (samples?.times ?? [])
        .map((at, i) => ({ at, lowest: samples?.lowest[i] ?? 0, highest: samples?.highest[i] ?? 0 }))
        .filter(({ at }) => !teeth.some((tooth) => !tooth.scan && tooth.at < at && at < tooth.ended));
    const measured = teeth.flatMap(({ at, before, after }) => [before, after].map((used) => ({ at, lowest: used, highest: used })));
    return [...sampled, ...measured].sort((a, b) => a.at - b.at);
}

function path(stretches: readonly Stretch[], x: Scale, y: Scale, bytes: (one: Stretch) => number): string {
    return stretches.map((one) => `${place(x, one.at).toFixed(1)} ${place(y, bytes(one)).toFixed(1)}`).join("L");
}

export function outline(stretches: readonly Stretch[], x: Scale, y: Scale): string {
    return `M${path(stretches, x, y, ({ highest }) => highest)}`;
}

// Between the highest and the lowest samples, if a stretch of time has several.
export function band(stretches: readonly Stretch[], x: Scale, y: Scale): string {
    const lower = path([...stretches].reverse(), x, y, ({ lowest }) => lowest);
    return `${outline(stretches, x, y)}L${lower}Z`;
}

export function area(stretches: readonly Stretch[], x: Scale, y: Scale): string {
    const [first, last] = [stretches[0]?.at ?? 0, stretches.at(-1)?.at ?? 0].map((at) => place(x, at).toFixed(1));
    const floor = y.start.toFixed(1);
    return `${outline(stretches, x, y)}L${last} ${floor}L${first} ${floor}Z`;
}
