// SPDX-License-Identifier: Apache-2.0
// Vite plugin that writes the bundle as one page, with a Content-Security-Policy that allows script and
// style by their hashes.
import { createHash } from "node:crypto";
import type { Plugin } from "vite";

function hash(text: string): string {
    return `'sha256-${createHash("sha256").update(text, "utf8").digest("base64")}'`;
}

// Blocks all requests and all other scripts and styles, even if some text is not escaped.
export function securityPolicy(script: string, style: string): string {
    return [
        "default-src 'none'",
        `script-src ${hash(script)}`,
        `style-src ${hash(style)}`,
        "base-uri 'none'",
        "form-action 'none'",
    ].join("; ");
}

export function fillPage(page: string, script: string, style: string): string {
    if (/<\/script|<!--/i.test(script) || /<\/style/i.test(style)) {
        throw new Error("the bundle contains text that would end its element");
    }
    // Functions, because "$&" is special in replacement strings.
    return page
        .replace("<!--build:policy-->", () => securityPolicy(script, style))
        .replace("<!--build:style-->", () => `<style>${style}</style>`)
        .replace("<!--build:script-->", () => `<script>${script}</script>`);
}

export function singleFile(page: () => string): Plugin {
    return {
        name: "cyclewatch-single-file",
        enforce: "post",
        generateBundle(_options, bundle) {
            let script = "";
            let style = "";
            for (const [name, item] of Object.entries(bundle)) {
                if (item.type === "chunk") {
                    script += item.code;
                } else if (name.endsWith(".css")) {
                    style += String(item.source);
                } else {
                    throw new Error(`cannot embed ${name} in the page`);
                }
                Reflect.deleteProperty(bundle, name);
            }
            const source = fillPage(page(), script, style);
            this.emitFile({ type: "asset", fileName: "shell.html", source });
        },
    };
}
