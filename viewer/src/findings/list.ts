// SPDX-License-Identifier: Apache-2.0
// Hides and reorders the cards and bars according to the current selection.
import { all, arrange, byId, make } from "../page/dom";
import { isNarrowed } from "./choice";
import type { State } from "./state";

const ENTRIES = "[data-finding]";

export function showChosenFindings(state: State): void {
    const lists = all("[data-findings]");
    const nothing = make("p", { class: "nothing", hidden: true }, "No findings match.");
    byId("tools").after(nothing);
    state.watch((shown, choice) => {
        const positions = new Map(shown.map((finding, i) => [finding, i]));
        for (const list of lists) {
            arrange(list, "finding", positions);
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
