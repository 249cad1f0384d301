// SPDX-License-Identifier: Apache-2.0
// Selects, sorts and nests the groups of live tensors. Pure functions.
import { matches } from "../findings/choice";
import { processName } from "../page/format";
import type { LiveOwner, Report } from "../report/schema";

export const LIVE_SORTS = {
    bytes: "size",
    count: "number",
    holder: "holder",
} as const;
export type LiveSort = keyof typeof LIVE_SORTS;

export const LIVE_FACETS = ["category", "device", "process"] as const;
export type LiveFacet = (typeof LIVE_FACETS)[number];

export interface LiveChoice {
    search: string;
    sort: LiveSort;
    facets: Partial<Record<LiveFacet, string>>;
}

export const ALL_LIVE: LiveChoice = { search: "", sort: "bytes", facets: {} };

export function isNarrowedLive(choice: LiveChoice): boolean {
    return choice.search.trim() !== "" || Object.keys(choice.facets).length > 0;
}

export function liveFacetValue(report: Report, live: LiveOwner, facet: LiveFacet): string {
    switch (facet) {
        case "category":
            return live.category;
        case "device":
            return live.owner.device;
        case "process":
            return processName(report.processes[live.process]);
    }
}

// The searchable text of a row, in lower case.
export function liveSearchText(report: Report, live: LiveOwner): string {
    const { type, shape, dtype, path, allocated_at } = live.owner;
    return [
        type,
        shape,
        dtype,
        path,
        allocated_at,
        ...LIVE_FACETS.map((facet) => liveFacetValue(report, live, facet)),
        ...live.held_by.flatMap((held) => [held.root.kind, held.root.location, held.text]),
    ]
        .join("\n")
        .toLowerCase();
}

export function holderOf(live: LiveOwner): string {
    return live.held_by[0]?.root.text ?? "not known";
}

// The path without its root: "losses[x]".
export function pathInHolder(live: LiveOwner): string {
    const path = live.owner.path || (live.held_by[0]?.text ?? "");
    const [, ...rest] = path.split(" -> ");
    return rest.join(" → ") || live.owner.type;
}

const ORDER: Record<LiveSort, (a: LiveOwner, b: LiveOwner) => number> = {
    bytes: (a, b) => b.bytes - a.bytes,
    count: (a, b) => b.owner.count - a.owner.count,
    holder: (a, b) => (a.held_by[0]?.text ?? "\uffff").localeCompare(b.held_by[0]?.text ?? "\uffff", "en"),
};

// Returns indexes into `owners`.
export function chooseLive(
    report: Report,
    owners: readonly LiveOwner[],
    texts: readonly string[],
    choice: LiveChoice,
): number[] {
    const wanted = Object.entries(choice.facets) as [LiveFacet, string][];
    const order = ORDER[choice.sort];
    return owners
        .map((live, index) => ({ live, index }))
        .filter(
            ({ live, index }) =>
                matches(texts[index], choice.search) &&
                wanted.every(([facet, value]) => liveFacetValue(report, live, facet) === value),
        )
        .sort((a, b) => order(a.live, b.live) || a.index - b.index)
        .map(({ index }) => index);
}

// A category, a holder or a group of tensors.
export interface Branch {
    name: string;
    bytes: number; // 0 if it has children
    index: number; // of the group; -1 for others
    children: Branch[];
}

function child(parent: Branch, name: string): Branch {
    let found = parent.children.find((each) => each.name === name);
    if (found === undefined) {
        found = { name, bytes: 0, index: -1, children: [] };
        parent.children.push(found);
    }
    return found;
}

// Categories, then holders, then the groups with the indexes `shown`.
export function nest(owners: readonly LiveOwner[], shown: readonly number[]): Branch {
    const top: Branch = { name: "", bytes: 0, index: -1, children: [] };
    for (const index of shown) {
        const live = owners[index];
        if (live !== undefined) {
            child(child(top, live.category), holderOf(live)).children.push({
                name: pathInHolder(live),
                bytes: live.bytes,
                index,
                children: [],
            });
        }
    }
    return top;
}
