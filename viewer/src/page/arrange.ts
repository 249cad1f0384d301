// SPDX-License-Identifier: Apache-2.0
// Hides and reorders the entries of a list.
import { all } from "./dom";

// Entries have the attribute `data-KEY` with an index. `positions` has the indexes to show. Elements
// are moved only if the order changes, to keep the scroll position.
export function arrange(list: HTMLElement, key: string, positions: ReadonlyMap<number, number>): void {
    const entries = all(`:scope > [data-${key}]`, list);
    const indexOf = (entry: HTMLElement): number => Number(entry.dataset[key]);
    const positionOf = (entry: HTMLElement): number => positions.get(indexOf(entry)) ?? Infinity;
    const sorted = [...entries].sort(
        (a, b) => positionOf(a) - positionOf(b) || indexOf(a) - indexOf(b),
    );
    for (const entry of entries) {
        entry.hidden = !positions.has(indexOf(entry));
    }
    if (sorted.some((entry, i) => entry !== entries[i])) {
        list.append(...sorted);
    }
}
