// SPDX-License-Identifier: Apache-2.0
// The chart on each card: memory found over the run.
import { make, makeSvg } from "../page/dom";
import { formatBytes, formatDuration } from "../page/format";
import { onFirstVisible } from "../page/lazy";
import type { Finding, Report } from "../report/schema";

const SLICES = 120;

function bytesBySlice(report: Report, until: number): Map<string, number[]> {
    const found = new Map<string, number[]>();
    for (const record of report.collections) {
        const at = Math.min(SLICES - 1, Math.floor((record.started_at / until) * SLICES));
        for (const part of record.findings) {
            let slices = found.get(part.signature);
            if (slices === undefined) {
                slices = new Array<number>(SLICES).fill(0);
                found.set(part.signature, slices);
            }
            slices[at] = (slices[at] ?? 0) + part.retained_bytes;
        }
    }
    return found;
}

function strip(slices: readonly number[], until: number): HTMLElement {
    const most = Math.max(...slices);
    const label = `Memory found over the run, at most ${formatBytes(most)} per interval`;
    const svg = makeSvg("svg", {
        class: "history",
        role: "img",
        "aria-label": label,
        viewBox: `0 0 ${SLICES} 100`,
        preserveAspectRatio: "none",
    });
    for (const [i, bytes] of slices.entries()) {
        if (bytes > 0) {
            const height = Math.max(4, (bytes / most) * 100);
            svg.append(makeSvg("rect", { x: i + 0.1, y: 100 - height, width: 0.8, height }));
        }
    }
    const ends = make(
        "p",
        { class: "history-ends" },
        make("span", {}, "start"),
        make("span", {}, `maximum ${formatBytes(most)}`),
        make("span", {}, formatDuration(until)),
    );
    return make("div", {}, svg, ends);
}

export class Histories {
    readonly #until: number;
    readonly #slices: ReadonlyMap<string, number[]>;

    constructor(report: Report) {
        const last = Math.max(0, ...report.collections.map((record) => record.started_at));
        this.#until = Math.max(report.stats.elapsed, last);
        this.#slices = this.#until > 0 ? bytesBySlice(report, this.#until) : new Map<string, number[]>();
    }

    draw(card: HTMLElement, finding: Finding): void {
        const slices = this.#slices.get(finding.signature);
        const when = card.querySelector(".when");
        if (slices?.some((bytes) => bytes > 0) && when !== null) {
            onFirstVisible(when, () => when.append(strip(slices, this.#until)));
        }
    }
}
