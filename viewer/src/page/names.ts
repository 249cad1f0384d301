// SPDX-License-Identifier: Apache-2.0
// Display name of a process.
import type { Process } from "../report/schema";

export function processName(process: Process | undefined): string {
    if (process === undefined) {
        return "unknown process";
    }
    return process.rank >= 0 ? `rank ${process.rank}` : `process ${process.pid}`;
}
