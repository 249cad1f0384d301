// SPDX-License-Identifier: Apache-2.0
// The parts of docs/formats/report.schema.json that the page uses.

export interface Process {
    script: string;
    pid: number;
    rank: number; // -1: not set
    started_at: string;
}

export interface Reference {
    holder: string;
    holder_path: string;
    label: string;
    target: string;
    location: string; // "path:line", or ""
    reason: string;
    payload: boolean;
}

export interface Owner {
    type: string;
    device: string;
    bytes: number;
    path: string;
    count: number;
    allocated_at: string;
    allocation_stack?: string[];
}

export interface ProcessOccurrences {
    process: number; // index into processes
    occurrences: number;
    retained_bytes: number;
    first_seen: number;
    first_step: number; // -1: unknown
}

// In columns: an array of values for each field.
export type OccurrencesByProcess = Record<keyof ProcessOccurrences, number[]>;

export const STATUSES = ["new", "known", "library", "benign", "ignored"] as const;
export type Status = (typeof STATUSES)[number];

export const VERDICTS = ["", "bug", "accepted", "unclear"] as const;
export type Verdict = (typeof VERDICTS)[number];

export interface Variant {
    signature: string;
    title: string;
    location: string;
}

export interface Finding {
    signature: string;
    pattern: string;
    title: string;
    remedy: string;
    retained_bytes: number;
    shared_bytes: number;
    occurrences: number;
    byte_seconds: number;
    cycle: Reference[];
    cut: Reference[];
    alternatives: Reference[];
    owners: Owner[];
    variants: Variant[];
    first_seen: number;
    last_seen: number;
    first_collection: number;
    status: Status;
    by_process: OccurrencesByProcess;
    verdict: Verdict;
    note: string;
}

export interface DeviceMemory {
    device: string;
    used_before: number;
    used_after: number;
    total: number;
}

// The occurrences of one finding in one collection.
export interface Part {
    signature: string;
    occurrences: number;
    retained_bytes: number;
}

export interface Collection {
    process: number; // index into processes
    number: number;
    generation: number;
    scan: boolean; // finds unreachable memory, but frees nothing
    started_at: number;
    duration: number;
    dead_for_at_most: number; // seconds since an earlier collection could have freed it
    unreachable: number;
    owners: number;
    released_bytes: number;
    device_memory: DeviceMemory[];
    findings: Part[];
    note: string;
}

// What keeps an object alive: references from a root to it.
export interface RetentionPath {
    root: { kind: string; text: string; location: string };
    text: string;
}

// A group of equal tensors.
export interface LiveOwner {
    process: number; // index into processes
    owner: Owner & { shape: string; dtype: string };
    bytes: number; // of the group
    category: string;
    held_by: RetentionPath[];
}

export interface GrowingOwner {
    process: number; // index into processes
    owner: Owner;
    bytes: number; // of the group
    held_by: string;
    rate: number; // bytes per `unit`
}

export interface Report {
    schema: "cyclewatch-report";
    schema_version: number;
    processes: Process[];
    devices: string[];
    findings: Finding[];
    retained_bytes: number;
    collections: Collection[];
    growing?: GrowingOwner[]; // missing without a census
    live_owners?: LiveOwner[]; // largest first; missing without a census
    stats: { elapsed: number };
}
