// SPDX-License-Identifier: Apache-2.0
// Vertical lines in the timeline: training steps, and errors because memory ran out.
import type { Report } from "../report/schema";
import { makeSvg } from "../page/dom";
import { formatCount } from "../page/format";
import { place, stepTicks, type Scale } from "./scale";

export interface Mark {
    at: number; // seconds
    text: string;
    kind: "step" | "oom";
}

const PIXELS_PER_STEP = 130;
export const TEXT_HEIGHT = 16; // above the plot

// At most `most` steps, at round numbers. The first recorded step that reaches a number is taken.
function stepMarks(report: Report, process: number, most: number): Mark[] {
    const recorded = (report.memory_steps ?? []).find((each) => each.process === process && each.steps.length > 1);
    if (recorded === undefined) {
        return [];
    }
    const { steps, times } = recorded;
    const ticks = stepTicks(Math.min(...steps), Math.max(...steps), most);
    const marks: Mark[] = [];
    for (const tick of ticks) {
        const at = times[steps.findIndex((step) => step >= tick)];
        if (at !== undefined && at !== marks.at(-1)?.at) {
            marks.push({ at, text: `step ${formatCount(tick)}`, kind: "step" });
        }
    }
    return marks;
}

export function marksOf(report: Report, process: number, device: string, most: number): Mark[] {
    const errors = (report.memory ?? [])
        .filter((each) => each.process === process && each.occasion === "out of memory")
        .filter((each) => device === "" || each.device === device)
        .map(({ at }): Mark => ({ at, text: "out of memory", kind: "oom" }));
    return [...stepMarks(report, process, most), ...errors];
}

export function mostSteps(x: Scale): number {
    return Math.max(2, (x.end - x.start) / PIXELS_PER_STEP);
}

type Anchor = "start" | "end";

interface Extent {
    left: number;
    right: number;
}

function extent({ at, text }: Mark, x: Scale, anchor: Anchor): Extent {
    const line = place(x, at);
    const width = 7 * text.length + 4;
    return anchor === "start" ? { left: line, right: line + width } : { left: line - width, right: line };
}

// The anchor of each mark's text: "start" on the right of its line, "end" on the left. Null if the text would overlap
// one that was placed before it: errors come before steps.
export function textAnchors(marks: readonly Mark[], x: Scale): (Anchor | null)[] {
    const taken: Extent[] = [];
    const anchors: (Anchor | null)[] = marks.map(() => null);
    const isFree = ({ left, right }: Extent): boolean =>
        left >= x.start && right <= x.end && taken.every((each) => right <= each.left || left >= each.right);
    for (const kind of ["oom", "step"] as const) {
        for (const [index, mark] of marks.entries()) {
            const anchor = (["start", "end"] as const).find((each) => isFree(extent(mark, x, each)));
            if (mark.kind === kind && anchor !== undefined) {
                anchors[index] = anchor;
                taken.push(extent(mark, x, anchor));
            }
        }
    }
    return anchors;
}

// The texts are above the plot, so that nothing covers them.
export function drawMarks(marks: readonly Mark[], x: Scale, y: Scale): SVGGElement {
    const group = makeSvg("g", { class: "marks", "aria-hidden": "true" });
    const anchors = textAnchors(marks, x);
    for (const [index, { at, text, kind }] of marks.entries()) {
        const left = place(x, at);
        const anchor = anchors[index] ?? null;
        const top = anchor === null ? y.end : y.end - TEXT_HEIGHT;
        group.append(makeSvg("line", { class: kind, x1: left, x2: left, y1: top, y2: y.start }));
        if (anchor !== null) {
            const beside = { x: left + (anchor === "start" ? 4 : -4), y: y.end - 4 };
            group.append(makeSvg("text", { class: kind, ...beside, "text-anchor": anchor }, text));
        }
    }
    return group;
}
