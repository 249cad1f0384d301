// SPDX-License-Identifier: Apache-2.0
// The texts beside the report, as src/render/html/page_texts.cpp writes them.

export interface MemoryDivision {
    time: string; // "Before collection 12"
    parts: { key: string; label: string; bytes: number }[];
}

export interface DeviceTexts {
    title: string;
    details: string;
    total: number; // bytes
    memory: MemoryDivision | null;
    dead_share: string;
    memory_now: MemoryDivision | null;
}

// One line of the code at a location.
export interface CodeLine {
    number: string;
    before: string; // the text before the expression at the location
    expression: string;
    after: string;
    here: boolean; // the line at the location
}

// The references to cut with one change to the code.
export interface ChangeTexts {
    first: number; // index into Finding.cut
    references: number;
    holders: string[];
    counted_holders: string; // "9 classes"
    classes: string; // "9 classes derived from Base", or ""
    code: CodeLine[];
}

export interface PictureTexts {
    svg: string; // markup, or "" if there is no drawing
    note: string; // why there is no drawing
    wide: boolean; // too wide for a column beside the advice
    undrawn: number; // objects that are left out
}

export interface FindingTexts {
    headline: string;
    size: string;
    occasions: string; // "3 collections"
    sharing: string; // with what the memory is shared, or ""
    unowned: string;
    collected: string; // "not collected yet", or "" if a collection freed the memory
    never_freed: boolean;
    changes: ChangeTexts[];
    alternative_code: CodeLine[][]; // like Finding.alternatives
    shown_steps: number; // of the cycle
    more_steps: number;
    picture: PictureTexts;
}

// A built-in pattern.
export interface PatternTexts {
    title: string;
    shape: string;
    before: string; // code that leaks
    after: string; // the code, fixed
    links: string[];
}

export interface Texts {
    findings: FindingTexts[]; // like Report.findings
    never_freed: string; // why no collection frees some of the findings
    patterns: Record<string, PatternTexts>; // of the findings
    processes: string; // describes the watched processes
    census: string; // when the tensors were listed, or ""
    growing: { rate: string; full_in: string }[]; // like Report.growing
    devices: DeviceTexts[];
    more_devices: string; // counts the devices that are not listed, or ""
    collections: string; // whether the run needs garbage collection, or ""
    alignment: string; // what collections cost the ranks of a job, or ""
    overhead: string;
    notes: string[];
}
