// SPDX-License-Identifier: Apache-2.0
// The lines and labels of a chart's byte axis.
import { makeSvg } from "../page/dom";
import { byteTicks, byteTickTexts, place, type Scale } from "./scale";

const MOST_TICKS = 4;

// `left`: the width of the labels.
export function byteAxis(x: Scale, y: Scale, left: number): SVGElement[] {
    const ticks = byteTicks(y.from, y.to, MOST_TICKS);
    return byteTickTexts(ticks).flatMap((text, i) => {
        const at = place(y, ticks[i] ?? 0);
        return [
            makeSvg("line", { x1: x.start, x2: x.end, y1: at, y2: at }),
            makeSvg("text", { x: left - 10, y: at + 4, "text-anchor": "end" }, text),
        ];
    });
}
