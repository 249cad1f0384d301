// SPDX-License-Identifier: Apache-2.0
// The report as the page uses it.
import type * as fields from "./fields";

export type {
    CategorySizes,
    Collection,
    CollectionSteps,
    GrowingOwner,
    LiveOwner,
    MemoryAccount,
    MemorySamples,
    MemorySteps,
    ProcessOccurrences,
    Program,
} from "./fields";

// In columns: an array of values for each field.
export type OccurrencesByProcess = Record<keyof fields.ProcessOccurrences, number[]>;

export type Finding = Omit<fields.Finding, "by_process"> & { by_process: OccurrencesByProcess };

export type Verdict = fields.Finding["verdict"];
export const VERDICTS: readonly Verdict[] = ["", "bug", "accepted", "unclear"];

export type Report = Omit<fields.Report, "findings"> & {
    schema: "cyclewatch-report";
    schema_version: number;
    findings: Finding[];
};
