// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { singleFile } from "./build/single_file";

const here = fileURLToPath(new URL(".", import.meta.url));

export default defineConfig({
    plugins: [singleFile(() => readFileSync(resolve(here, "src/page.html"), "utf8"))],
    build: {
        outDir: process.env.VIEWER_OUT_DIR ?? resolve(here, "../.build/viewer/shell"),
        emptyOutDir: true,
        target: ["chrome109", "firefox115", "safari16"],
        cssCodeSplit: false,
        modulePreload: false,
        rollupOptions: {
            input: resolve(here, "src/main.ts"),
            output: { format: "iife" },
        },
    },
    test: {
        // One browser at a time, for small machines.
        fileParallelism: false,
        projects: [
            { test: { name: "unit", include: ["tests/unit/*.test.ts"] } },
            {
                test: {
                    name: "opening",
                    include: ["tests/opening.measure.ts"],
                    globalSetup: "tests/browser/reports.ts",
                },
            },
            {
                test: {
                    name: "browser",
                    include: ["tests/browser/*.test.ts"],
                    globalSetup: "tests/browser/reports.ts",
                    testTimeout: 30_000,
                    hookTimeout: 60_000,
                },
            },
        ],
    },
});
