// SPDX-License-Identifier: Apache-2.0
// How the page calls what has no name of its own.
import type { Process } from "../report/schema";

export function processName(process: Process | undefined): string {
    if (process === undefined) {
        return "unknown process";
    }
    return process.rank >= 0 ? `rank ${process.rank}` : `process ${process.pid}`;
}
