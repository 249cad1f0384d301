// SPDX-License-Identifier: Apache-2.0
// The current selection and its listeners.
import { choose, EVERYTHING, searchText, type Choice, type Facet } from "./choice";
import type { Report } from "../report/schema";

export type Listener = (shown: readonly number[], choice: Choice) => void;

export class State {
    #choice: Choice = EVERYTHING;
    readonly #texts: readonly string[];
    readonly #listeners: Listener[] = [];

    constructor(readonly report: Report) {
        this.#texts = report.findings.map(searchText);
    }

    // Also calls the listener immediately.
    watch(listener: Listener): void {
        this.#listeners.push(listener);
        listener(choose(this.report, this.#texts, this.#choice), this.#choice);
    }

    get choice(): Choice {
        return this.#choice;
    }

    change(part: Partial<Pick<Choice, "search" | "sort">>): void {
        this.#set({ ...this.#choice, ...part });
    }

    // "" removes the facet.
    narrow(facet: Facet, value: string): void {
        const facets = { ...this.#choice.facets };
        if (value === "") {
            // eslint-disable-next-line @typescript-eslint/no-dynamic-delete -- a copy
            delete facets[facet];
        } else {
            facets[facet] = value;
        }
        this.#set({ ...this.#choice, facets });
    }

    // Selects the findings of one collection; undefined: of all collections.
    narrowToCollection(collection: Choice["collection"]): void {
        const { collection: before, ...rest } = this.#choice;
        this.#set(collection === undefined ? rest : { ...rest, collection });
    }

    showAll(): void {
        this.#set({ ...EVERYTHING, sort: this.#choice.sort });
    }

    #set(choice: Choice): void {
        this.#choice = choice;
        const shown = choose(this.report, this.#texts, choice);
        for (const listener of this.#listeners) {
            listener(shown, choice);
        }
    }
}
