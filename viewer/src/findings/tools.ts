// SPDX-License-Identifier: Apache-2.0
// The search, sort and filter controls.
import { announce, button, byId, field, make, select } from "../page/dom";
import { counted } from "../page/format";
import { FACETS, facetCounts, isNarrowed, SORTS, type Facet, type Sort } from "./choice";
import type { State } from "./state";

const FACET_NAMES: Record<Facet, string> = {
    device: "Device",
    rank: "Rank",
    pattern: "Pattern",
    file: "File",
    status: "Status",
};

const LONGEST_OPTION = 48;

const byNumbers = new Intl.Collator("en", { numeric: true }); // 9 before 10

function shorten(text: string): string {
    return text.length <= LONGEST_OPTION ? text : `…${text.slice(1 - LONGEST_OPTION)}`;
}

function searchField(state: State): HTMLElement {
    const input = make("input", { type: "search", placeholder: "name, file, signature" });
    input.addEventListener("input", () => state.change({ search: input.value }));
    state.watch((_, choice) => {
        if (input.value !== choice.search) {
            input.value = choice.search;
        }
    });
    return field("Search", input, "search");
}

function sortField(state: State): HTMLElement {
    const control = select(Object.entries(SORTS), (value) => state.change({ sort: value as Sort }));
    return field("Sort by", control);
}

// Undefined if the facet has only one value.
function facetField(state: State, facet: Facet): HTMLElement | undefined {
    const counts = [...facetCounts(state.report, facet)];
    if (counts.length < 2) {
        return undefined;
    }
    counts.sort(([a], [b]) => byNumbers.compare(a, b));
    const options: (readonly [string, string])[] = counts.map(([value, count]) => [
        value,
        `${shorten(value)} (${count})`,
    ]);
    const control = select([["", "all"], ...options], (value) => state.narrow(facet, value));
    state.watch((_, choice) => {
        control.value = choice.facets[facet] ?? "";
        control.classList.toggle("chosen", control.value !== "");
    });
    return field(FACET_NAMES[facet], control);
}

function outcome(state: State): HTMLElement {
    const text = make("span");
    const clear = button("Show all", () => state.showAll(), { class: "quiet" });
    let first = true;
    state.watch((shown, choice) => {
        const total = counted(state.report.findings.length, "finding");
        const narrowed = isNarrowed(choice);
        text.textContent = narrowed ? `${shown.length} of ${total}` : total;
        if (choice.collection !== undefined) {
            const record = state.report.collections[choice.collection.index];
            text.textContent += ` in ${record?.scan ? "scan" : "collection"} ${record?.number ?? "?"}`;
        }
        clear.hidden = !narrowed;
        if (!first) {
            announce(text.textContent);
        }
        first = false;
    });
    return make("p", { class: "outcome" }, text, clear);
}

export function addTools(state: State): void {
    if (state.report.findings.length < 2) {
        return;
    }
    const tools = byId("tools");
    tools.append(searchField(state));
    for (const facet of FACETS) {
        const made = facetField(state, facet);
        if (made !== undefined) {
            tools.append(made);
        }
    }
    tools.append(sortField(state), outcome(state));
    tools.hidden = false;
}
