// SPDX-License-Identifier: Apache-2.0
// Selects one of the points of a chart with the pointer or the keys.
import { place, type Scale } from "./scale";

// The index of the value that is drawn nearest to the pointer; -1 if there is none.
export function nearest(
    event: MouseEvent,
    chart: HTMLElement,
    scale: Scale,
    values: readonly number[],
): number {
    const x = event.clientX - chart.getBoundingClientRect().left;
    const distances = values.map((value) => Math.abs(place(scale, value) - x));
    return distances.indexOf(Math.min(...distances));
}

// The index to which a key moves from `at`; undefined for other keys.
export function moved(key: string, at: number, last: number): number | undefined {
    const moves: Record<string, number> = {
        ArrowLeft: Math.max(0, at - 1),
        ArrowDown: Math.max(0, at - 1),
        ArrowRight: Math.min(last, at + 1),
        ArrowUp: Math.min(last, at + 1),
        Home: 0,
        End: last,
    };
    return moves[key];
}
