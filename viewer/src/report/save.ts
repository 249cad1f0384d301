// SPDX-License-Identifier: Apache-2.0
// Saves a copy of the page with the verdicts and notes.
import { writeReport } from "./read";
import type { Report } from "./schema";

export class PageCopy {
    // A local page cannot read its own file, so this serialises the document. Must be created before
    // the document changes.
    // eslint-disable-next-line no-restricted-properties -- only read
    readonly #source = `<!doctype html>\n${document.documentElement.outerHTML}\n`;

    async with(report: Report): Promise<string> {
        const page = new DOMParser().parseFromString(this.#source, "text/html");
        await writeReport(page, report);
        // eslint-disable-next-line no-restricted-properties -- only read
        return `<!doctype html>\n${page.documentElement.outerHTML}\n`;
    }
}

export function fileName(): string {
    const name = decodeURIComponent(location.pathname.split("/").at(-1) ?? "");
    return /\.html?$/i.test(name) ? name : "cyclewatch-report.html";
}

export function download(name: string, contents: string): void {
    const url = URL.createObjectURL(new Blob([contents], { type: "text/html" }));
    const link = document.createElement("a");
    link.href = url;
    link.download = name;
    link.click();
    // click() may return before the browser has read the data.
    setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
