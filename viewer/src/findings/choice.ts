// SPDX-License-Identifier: Apache-2.0
// Selects and sorts the findings to show. Pure functions.
import type { Finding, Report } from "../report/schema";

export const SORTS = {
    bytes: "size",
    occurrences: "number of cycles",
    byte_seconds: "bytes × time",
    first_seen: "first seen",
} as const;
export type Sort = keyof typeof SORTS;

export const FACETS = ["device", "rank", "pattern", "file", "status"] as const;
export type Facet = (typeof FACETS)[number];

export interface Choice {
    search: string;
    sort: Sort;
    facets: Partial<Record<Facet, string>>;
    collection?: { index: number; findings: ReadonlySet<number> };
}

export const EVERYTHING: Choice = { search: "", sort: "bytes", facets: {} };

export function isNarrowed(choice: Choice): boolean {
    return (
        choice.search.trim() !== "" ||
        choice.collection !== undefined ||
        Object.keys(choice.facets).length > 0
    );
}

export function fileOf(location: string): string {
    return location.replace(/:\d+$/, "");
}

export function rankName(rank: number): string {
    return rank < 0 ? "none" : String(rank);
}

const namesOfRanks = new WeakMap<Report, readonly string[]>();

// Rank names by process. Cached: a merged report may have a thousand ranks and hundreds of findings.
function rankNames(report: Report): readonly string[] {
    let names = namesOfRanks.get(report);
    if (names === undefined) {
        names = report.processes.map(({ rank }) => rankName(rank));
        namesOfRanks.set(report, names);
    }
    return names;
}

// The values of the facet for this finding.
export function facetValues(report: Report, finding: Finding, facet: Facet): string[] {
    switch (facet) {
        case "device":
            return finding.owners.map((owner) => owner.device);
        case "rank": {
            const names = rankNames(report);
            return finding.by_process.process.map((process) => names[process] ?? rankName(-1));
        }
        case "pattern":
            return [finding.pattern];
        case "file":
            return [...finding.cut, ...finding.cycle].map((step) => fileOf(step.location));
        case "status":
            return [finding.status];
    }
}

// The values of a facet, each with its number of findings.
export function facetCounts(report: Report, facet: Facet): Map<string, number> {
    // `by` is the last finding that was counted, so that each finding counts once.
    const seen = new Map<string, { count: number; by: Finding }>();
    for (const finding of report.findings) {
        for (const value of facetValues(report, finding, facet)) {
            const before = seen.get(value);
            if (before === undefined) {
                seen.set(value, { count: 1, by: finding });
            } else if (before.by !== finding) {
                before.count += 1;
                before.by = finding;
            }
        }
    }
    seen.delete("");
    return new Map([...seen].map(([value, { count }]) => [value, count]));
}

// The searchable text of a card, in lower case.
export function searchText(finding: Finding): string {
    const references = [...finding.cut, ...finding.cycle, ...finding.alternatives];
    return [
        finding.title,
        finding.remedy,
        finding.signature,
        finding.pattern,
        finding.note,
        ...references.flatMap((step) => [step.holder, step.label, step.target, step.location]),
        ...finding.variants.flatMap((variant) => [variant.signature, variant.title, variant.location]),
        ...finding.owners.flatMap((owner) => [owner.type, owner.device, owner.path, owner.allocated_at]),
    ]
        .join("\n")
        .toLowerCase();
}

const ORDER: Record<Sort, (a: Finding, b: Finding) => number> = {
    bytes: (a, b) => b.retained_bytes + b.shared_bytes - a.retained_bytes - a.shared_bytes || b.retained_bytes - a.retained_bytes,
    occurrences: (a, b) => b.occurrences - a.occurrences,
    byte_seconds: (a, b) => b.byte_seconds - a.byte_seconds,
    first_seen: (a, b) => a.first_seen - b.first_seen,
};

// Whether the text, in lower case, contains every word of the search.
export function matches(text: string | undefined, search: string): boolean {
    return search
        .toLowerCase()
        .split(/\s+/)
        .every((word) => text?.includes(word));
}

// Returns indexes into report.findings.
export function choose(report: Report, texts: readonly string[], choice: Choice): number[] {
    const wanted = Object.entries(choice.facets) as [Facet, string][];
    const fits = (finding: Finding, index: number): boolean =>
        (choice.collection?.findings.has(index) ?? true) &&
        matches(texts[index], choice.search) &&
        wanted.every(([facet, value]) => facetValues(report, finding, facet).includes(value));
    const order = ORDER[choice.sort];
    return report.findings
        .map((finding, index) => ({ finding, index }))
        .filter(({ finding, index }) => fits(finding, index))
        .sort((a, b) => order(a.finding, b.finding) || a.index - b.index)
        .map(({ index }) => index);
}
