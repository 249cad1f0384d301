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

// The anchor of each mark's text: "start" on the right of its line, "end" on the left if there is no room on the right.
// Null if the text of a step would overlap the one before.
export function textAnchors(marks: readonly Mark[], x: Scale): ("start" | "end" | null)[] {
    let free = x.start;
    return marks.map(({ at, text, kind }) => {
        const left = place(x, at);
        const width = 7 * text.length;
        const anchor = left + width < x.end ? "start" : "end";
        if (kind !== "step") {
            return anchor;
        }
        if ((anchor === "start" ? left : left - width) < free) {
            return null;
        }
        free = anchor === "start" ? left + width : left;
        return anchor;
    });
}

export function drawMarks(marks: readonly Mark[], x: Scale, y: Scale): SVGGElement {
    const group = makeSvg("g", { class: "marks", "aria-hidden": "true" });
    const anchors = textAnchors(marks, x);
    for (const [index, { at, text, kind }] of marks.entries()) {
        const left = place(x, at);
        const anchor = anchors[index] ?? null;
        group.append(makeSvg("line", { class: kind, x1: left, x2: left, y1: y.end, y2: y.start }));
        if (anchor !== null) {
            const beside = { x: left + (anchor === "start" ? 4 : -4), y: y.end + (kind === "oom" ? 24 : 10) };
            group.append(makeSvg("text", { class: kind, ...beside, "text-anchor": anchor }, text));
        }
    }
    return group;
}
