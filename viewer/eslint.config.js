// SPDX-License-Identifier: Apache-2.0
import { fileURLToPath } from "node:url";
import { defineConfig } from "eslint/config";
import tseslint from "typescript-eslint";

export default defineConfig(
    { ignores: ["node_modules", "shell.html"] },
    ...tseslint.configs.strictTypeChecked,
    ...tseslint.configs.stylisticTypeChecked,
    {
        languageOptions: {
            parserOptions: {
                projectService: { allowDefaultProject: ["eslint.config.js", "tests/take_pictures.mjs"] },
                tsconfigRootDir: fileURLToPath(new URL(".", import.meta.url)),
            },
        },
        rules: {
            // Data from a report must never be parsed as markup.
            "no-restricted-properties": [
                "error",
                { property: "innerHTML", message: "Build elements; a report is never markup." },
                { property: "outerHTML", message: "Only report/save.ts reads it, and nothing sets it." },
                { property: "insertAdjacentHTML", message: "Build elements." },
            ],
            "max-lines": ["error", { max: 400 }],
            "max-lines-per-function": ["error", { max: 60, skipComments: true }],
            "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
            "@typescript-eslint/no-confusing-void-expression": "off",
            "@typescript-eslint/no-unused-vars": ["error", { ignoreRestSiblings: true }],
        },
    },
    {
        files: ["tests/**"],
        rules: { "max-lines-per-function": "off" },
    },
);
