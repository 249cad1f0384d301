// SPDX-License-Identifier: Apache-2.0
// Hides and reorders the cards and bars according to the current selection.
import { all, byId, make } from "../page/dom";
import { isNarrowed } from "./choice";
import type { State } from "./state";

const ENTRIES = "[data-finding]";

function indexOf(entry: HTMLElement): number {
    return Number(entry.dataset.finding);
}

// Moves elements only if the order changes, to keep the scroll position.
function arrange(list: HTMLElement, positions: ReadonlyMap<number, number>): void {
    const entries = all(`:scope > ${ENTRIES}`, list);
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

export function showChosenFindings(state: State): void {
    const lists = all("[data-findings]");
    const nothing = make("p", { class: "nothing", hidden: true }, "No findings match.");
    byId("tools").after(nothing);
    state.watch((shown, choice) => {
        const positions = new Map(shown.map((finding, i) => [finding, i]));
        for (const list of lists) {
            arrange(list, positions);
            // Hide sections without visible entries.
            const section = list.closest<HTMLElement>("[data-foldable]");
            if (section !== null) {
                section.hidden = list.querySelector(`:scope > ${ENTRIES}:not([hidden])`) === null;
                if (section instanceof HTMLDetailsElement && isNarrowed(choice)) {
                    section.open = true;
                }
            }
        }
        nothing.hidden = shown.length > 0 || !isNarrowed(choice);
    });
}
