// SPDX-License-Identifier: Apache-2.0
// The moments at which the categories of the live tensors were measured: censuses and accounts.
import type { CategorySizes, MemorySteps, Report } from "../report/schema";

const CATEGORIES = [
    ["parameter", "parameters"],
    ["optimizer_state", "optimizer state"],
    ["gradient", "gradients"],
    ["activation", "activations"],
    ["saved_for_backward", "saved for backward"],
    ["other", "other tensors"],
] as const satisfies readonly (readonly [keyof CategorySizes, string])[];

const OTHERS = ["held by C++", "buffer"]; // lines of an account, which a census counts as "other"

export type Category = (typeof CATEGORIES)[number][0];

export interface Knot {
    at: number; // seconds since the watch began
    sizes: Record<Category, number>;
}

// The steps of the nearest measurements; both are the step itself if it was measured. One is missing
// before the first and after the last measurement.
export interface Measured {
    before?: number;
    after?: number;
}

// The time at which the counters of a step were read; `at` if the step was not recorded. A measurement
// may take long, so that its own time would be drawn in another step.
function timeOf({ steps, times }: MemorySteps, step: number, at: number): number {
    return times[steps.lastIndexOf(step)] ?? at;
}

// At least one census, or two accounts: a single account has nothing to be compared with.
export function knotsOf(report: Report, steps: MemorySteps): Knot[] {
    const accounts = (report.memory ?? [])
        .filter(({ process, device, lines }) => process === steps.process && device === steps.device && lines.length > 0)
        .map(({ at, step, lines }): Knot => {
            const size = (category: string): number =>
                lines
                    .filter(({ kind }) => (OTHERS.includes(kind) ? "other" : kind.replaceAll(" ", "_")) === category)
                    .reduce((sum, { bytes }) => sum + bytes, 0);
            return { at: timeOf(steps, step, at), sizes: Object.fromEntries(CATEGORIES.map(([field]) => [field, size(field)])) as Knot["sizes"] };
        });
    const censuses = steps.censuses.map((census): Knot => ({ at: timeOf(steps, census.step, census.at), sizes: census }));
    const knots = [...censuses, ...accounts];
    return steps.censuses.length > 0 || accounts.length > 1 ? knots.sort((a, b) => a.at - b.at) : [];
}

// The categories of which there is any memory, with their names.
export function categoriesOf(knots: readonly Knot[]): readonly (readonly [Category, string])[] {
    return CATEGORIES.filter(([field]) => knots.some(({ sizes }) => sizes[field] > 0));
}

// `exact`: the times of the measurements; `along`: the step at a time.
export function measuredAt(exact: readonly number[], at: number, along: (at: number) => number): Measured {
    const before = exact.filter((time) => time <= at).at(-1);
    const after = exact.find((time) => time >= at);
    return {
        ...(before === undefined ? {} : { before: along(before) }),
        ...(after === undefined ? {} : { after: along(after) }),
    };
}

// True if the categories were measured in this step.
export function isExact({ before, after }: Measured): boolean {
    return before !== undefined && before === after;
}
