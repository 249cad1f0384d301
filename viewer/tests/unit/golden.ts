// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from "node:fs";
import { parseReport } from "../../src/report/read";
import type { Report } from "../../src/report/schema";

const path = new URL("../../../tests/golden/report.json", import.meta.url);

// Parses tests/golden/report.json.
export function golden(): Report {
    return parseReport(readFileSync(path, "utf8"));
}
