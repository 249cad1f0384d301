// SPDX-License-Identifier: Apache-2.0
// The tab "Live": the tables of live memory, with the treemap, search and filters.
import { all, announce, arrange, button, byId, field, make, select } from "../page/dom";
import { counted, formatBytes } from "../page/format";
import type { Tab } from "../page/tabs";
import { addLocationButtons } from "../findings/locations";
import type { LiveOwner, Report } from "../report/schema";
import type { Texts } from "../report/texts";
import {
    ALL_LIVE,
    chooseLive,
    isNarrowedLive,
    LIVE_FACETS,
    LIVE_SORTS,
    liveFacetValue,
    liveSearchText,
    type LiveChoice,
    type LiveFacet,
    type LiveSort,
} from "./groups";
import { liveView } from "./tables";
import { Treemap } from "./treemap";

const FACET_NAMES: Record<LiveFacet, string> = { category: "Category", device: "Device", process: "Process" };

const LEAST_ROWS_TO_CHOOSE = 2;

const byNumbers = new Intl.Collator("en", { numeric: true }); // 9 before 10

function bytesOf(owners: readonly LiveOwner[], shown: readonly number[]): number {
    return shown.reduce((sum, index) => sum + (owners[index]?.bytes ?? 0), 0);
}

class LiveList {
    #choice = ALL_LIVE;
    readonly #texts: readonly string[];
    readonly #treemap: Treemap;
    readonly #nothing = make("p", { class: "nothing", hidden: true }, "No groups match.");
    readonly #outcome = make("span");
    readonly #clear: HTMLButtonElement;
    readonly #controls: { input: HTMLInputElement | HTMLSelectElement; facet: LiveFacet | undefined }[] = [];

    constructor(
        private readonly report: Report,
        private readonly owners: readonly LiveOwner[],
        section: HTMLElement,
        private readonly rows: HTMLElement,
    ) {
        this.#texts = owners.map((live) => liveSearchText(report, live));
        this.#treemap = new Treemap(report, owners);
        this.#clear = button("Show all", () => this.#showAll(), { class: "quiet" });
        if (owners.length >= LEAST_ROWS_TO_CHOOSE) {
            section.querySelector("header")?.after(this.#treemap.element, this.#tools(), this.#nothing);
        }
        this.#show();
    }

    #tools(): HTMLElement {
        const input = make("input", { type: "search", placeholder: "name, path, shape" });
        input.addEventListener("input", () => this.#change({ search: input.value }));
        this.#controls.push({ input, facet: undefined });
        const facets = LIVE_FACETS.map((facet) => this.#facet(facet)).filter((each) => each !== undefined);
        const sort = select(Object.entries(LIVE_SORTS), (value) => this.#change({ sort: value as LiveSort }));
        return make(
            "div",
            { class: "tools", role: "search", "aria-label": "Live memory" },
            field("Search", input, "search"),
            ...facets,
            field("Sort by", sort),
            make("p", { class: "outcome" }, this.#outcome, this.#clear),
        );
    }

    // Undefined if there is only one value.
    #facet(facet: LiveFacet): HTMLElement | undefined {
        const values = [...new Set(this.owners.map((live) => liveFacetValue(this.report, live, facet)))];
        if (values.length < 2) {
            return undefined;
        }
        values.sort((a, b) => byNumbers.compare(a, b));
        const options = values.map((value) => [value, value] as const);
        const input = select([["", "all"], ...options], (value) => {
            const others = Object.entries(this.#choice.facets).filter(([name]) => name !== facet);
            const facets = Object.fromEntries(value === "" ? others : [...others, [facet, value]]);
            this.#change({ facets });
        });
        this.#controls.push({ input, facet });
        return field(FACET_NAMES[facet], input);
    }

    #change(part: Partial<LiveChoice>): void {
        this.#choice = { ...this.#choice, ...part };
        this.#show();
        announce(this.#outcome.textContent);
    }

    #showAll(): void {
        this.#change({ ...ALL_LIVE, sort: this.#choice.sort });
    }

    #show(): void {
        const shown = chooseLive(this.report, this.owners, this.#texts, this.#choice);
        arrange(this.rows, "live", new Map(shown.map((index, i) => [index, i])));
        this.#treemap.show(shown);
        this.#treemap.element.hidden = shown.length === 0;
        this.#nothing.hidden = shown.length > 0;
        const total = counted(this.owners.length, "group");
        const narrowed = isNarrowedLive(this.#choice);
        const groups = narrowed ? `${shown.length} of ${total}` : total;
        this.#outcome.textContent = `${groups}, ${formatBytes(bytesOf(this.owners, shown))}`;
        this.#clear.hidden = !narrowed;
        for (const { input, facet } of this.#controls) {
            const value = facet === undefined ? this.#choice.search : (this.#choice.facets[facet] ?? "");
            if (input.value !== value) {
                input.value = value;
            }
            input.classList.toggle("chosen", facet !== undefined && value !== "");
        }
    }
}

// Returns the tab, if there is one.
export function showLive(report: Report, texts: Texts): Tab | undefined {
    const view = liveView(report, texts);
    if (view === undefined) {
        return undefined; // no census
    }
    byId("findings").after(view);
    addLocationButtons(view);
    const section = document.getElementById("live-owners");
    const rows = section?.querySelector<HTMLElement>("tbody");
    let note = "";
    if (section !== null && rows !== undefined && rows !== null) {
        // The table may have fewer rows than the report.
        const owners = (report.live_owners ?? []).slice(0, all("[data-live]", rows).length);
        new LiveList(report, owners, section, rows);
        note = formatBytes(owners.reduce((sum, live) => sum + live.bytes, 0));
    }
    return { panel: "live", name: "Live", note };
}
