// SPDX-License-Identifier: Apache-2.0
// Shows the cards and bars that were chosen, in the order that was chosen. They are all in the
// page already; here they are only hidden and moved.
import { all, byId, make } from "../page/dom";
import { isNarrowed } from "./choice";
import type { State } from "./state";

const ENTRIES = "[data-finding]";

function indexOf(entry: HTMLElement): number {
    return Number(entry.dataset.finding);
}

// Moves nothing that is in its place: moving all of a long list would lose the reader's.
function arrange(list: HTMLElement, place: ReadonlyMap<number, number>): void {
    const entries = all(`:scope > ${ENTRIES}`, list);
    const placeOf = (entry: HTMLElement): number => place.get(indexOf(entry)) ?? Infinity;
    const sorted = [...entries].sort(
        (a, b) => placeOf(a) - placeOf(b) || indexOf(a) - indexOf(b),
    );
    for (const entry of entries) {
        entry.hidden = !place.has(indexOf(entry));
    }
    if (sorted.some((entry, i) => entry !== entries[i])) {
        list.append(...sorted);
    }
}

export function showChosenFindings(state: State): void {
    const lists = all("[data-findings]");
    const nothing = make("p", { class: "nothing", hidden: true }, "No finding fits this choice.");
    byId("tools").after(nothing);
    state.watch((shown, choice) => {
        const place = new Map(shown.map((finding, i) => [finding, i]));
        for (const list of lists) {
            arrange(list, place);
            // A fold or a section with nothing left in it is not worth its heading.
            const holder = list.closest<HTMLElement>("[data-foldable]");
            if (holder !== null) {
                holder.hidden = list.querySelector(`:scope > ${ENTRIES}:not([hidden])`) === null;
                if (holder instanceof HTMLDetailsElement && isNarrowed(choice)) {
                    holder.open = true;
                }
            }
        }
        nothing.hidden = shown.length > 0;
    });
}
