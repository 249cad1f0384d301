// SPDX-License-Identifier: Apache-2.0
// "Save as": the file that is open, with what the reader wrote put into it.
import { writeReport } from "./read";
import type { Report } from "./schema";

export class PageCopy {
    // A page from a file may not read its file; so it keeps what the parser made of it. Must be
    // made before anything changes the document.
    // eslint-disable-next-line no-restricted-properties -- read, and only ever parsed again
    readonly #source = `<!doctype html>\n${document.documentElement.outerHTML}\n`;

    async with(report: Report): Promise<string> {
        const page = new DOMParser().parseFromString(this.#source, "text/html");
        await writeReport(page, report);
        for (const card of page.querySelectorAll<HTMLElement>(".card[data-finding]")) {
            const finding = report.findings[Number(card.dataset.finding)];
            const opinion = card.querySelector<HTMLElement>(".opinion");
            const verdict = opinion?.querySelector("[data-verdict]");
            const note = opinion?.querySelector("[data-note]");
            if (finding && opinion && verdict && note) {
                verdict.textContent = finding.verdict === "" ? "none" : finding.verdict;
                note.textContent = finding.note;
                opinion.hidden = finding.verdict === "" && finding.note === "";
            }
        }
        // eslint-disable-next-line no-restricted-properties -- read, to become a file
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
    // The browser has taken the data by then, but not necessarily by the time click() returns.
    setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
