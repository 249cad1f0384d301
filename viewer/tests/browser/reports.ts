// SPDX-License-Identifier: Apache-2.0
// Generates the reports once before the browser tests, with the built extension.
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../..", import.meta.url));
export const FOLDER = `${root}.build/viewer/reports`;

export default function setup(): void {
    execFileSync(`${root}.venv/bin/python`, [`${root}viewer/tests/make_reports.py`, FOLDER], {
        env: { ...process.env, PYTHONPATH: root },
        stdio: ["ignore", "inherit", "inherit"],
    });
}
