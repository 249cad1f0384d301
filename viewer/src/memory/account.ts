// SPDX-License-Identifier: Apache-2.0
// The tab "Memory": what the memory in use was used for, with what to do next.
import { make } from "../page/dom";
import { counted, formatBytes, formatCount, formatDuration, processName } from "../page/format";
import { prose } from "../page/text";
import type { LiveOwner, MemoryAccount, Report } from "../report/schema";

const OCCASIONS: Record<MemoryAccount["occasion"], string> = {
    "out of memory": "when memory ran out",
    end: "when the program ended",
    request: "on request",
};
// Accounts of the same process, the most important first.
const ORDER = Object.keys(OCCASIONS);

export function sortedAccounts(report: Report): MemoryAccount[] {
    return [...(report.memory ?? [])].sort(
        (a, b) =>
            a.process - b.process ||
            ORDER.indexOf(a.occasion) - ORDER.indexOf(b.occasion) ||
            b.in_use - a.in_use,
    );
}

// Where and when the account was taken.
export function circumstances(report: Report, account: MemoryAccount): string {
    const process = report.processes.length > 1 ? `${processName(report.processes[account.process])}, ` : "";
    const step = account.step >= 0 ? `, step ${formatCount(account.step)}` : "";
    return `${process}${account.device}, ${OCCASIONS[account.occasion]}, ${formatDuration(account.at)} into the run${step}`;
}

function bar(bytes: number, most: number, kind: string): HTMLElement {
    const filled = make("div", { class: `filled layer-${kind.replaceAll(/[^\w]+/g, "-")}` });
    filled.style.width = `${((100 * Math.max(0, bytes)) / Math.max(1, most)).toFixed(2)}%`;
    return make("div", { class: "share", "aria-hidden": true }, filled);
}

function row(use: string, bytes: number, ...more: HTMLElement[]): HTMLElement {
    const size = bytes < 0 ? `−${formatBytes(-bytes)}` : formatBytes(bytes);
    return make(
        "tr",
        {},
        make("th", { scope: "row" }, use, ...more),
        make("td", { class: "number" }, size),
        make("td", { class: "number exact" }, (bytes < 0 ? "−" : "") + formatCount(Math.abs(bytes))),
    );
}

function lines(account: MemoryAccount): HTMLElement {
    const sorted = [...account.lines].sort((a, b) => b.bytes - a.bytes);
    const sum = account.lines.reduce((all, { bytes }) => all + bytes, 0);
    const below = [row(`in use (${account.source})`, sum)];
    if (account.total > 0) {
        below.push(row("total", account.total));
    }
    if (account.peak > 0) {
        below.push(row(account.device === "cpu" ? "peak of resident memory so far" : "peak of torch's allocations so far", account.peak));
    }
    return make(
        "div",
        { class: "scroll" },
        make(
            "table",
            {},
            make(
                "thead",
                {},
                make(
                    "tr",
                    {},
                    make("th", { scope: "col" }, "Used for"),
                    make("th", { scope: "col", class: "number" }, "Size"),
                    make("th", { scope: "col", class: "number" }, "Bytes"),
                ),
            ),
            make("tbody", {}, ...sorted.map(({ use, bytes, kind }) => row(use, bytes, bar(bytes, account.in_use, kind)))),
            make("tfoot", {}, ...below),
        ),
    );
}

function holder(owner: LiveOwner): HTMLElement {
    const shape = owner.owner.shape === "" ? "" : ` ${owner.owner.shape}`;
    const paths = owner.held_by.map(({ text }) => make("p", {}, "held by ", make("code", {}, text)));
    return make(
        "li",
        {},
        make("p", {}, make("b", {}, formatBytes(owner.bytes)), `: ${counted(owner.owner.count, owner.owner.type, owner.owner.type)}${shape}, ${owner.category}`),
        ...paths,
    );
}

function findings(report: Report, account: MemoryAccount): HTMLElement[] {
    const links = report.findings.flatMap(({ signature, title }, i) =>
        account.signatures.includes(signature)
            ? [make("li", {}, make("a", { href: `#finding-${i + 1}` }, title))]
            : [],
    );
    return links.length === 0 ? [] : [make("h3", {}, "Findings for the dead cycles"), make("ul", {}, ...links)];
}

function section(report: Report, account: MemoryAccount, number: number): HTMLElement {
    const title = `memory-${number}-title`;
    const holders = account.holders.map(holder);
    return make(
        "section",
        { class: "panel account", id: `memory-${number}`, "aria-labelledby": title },
        make("h2", { id: title, class: "headline" }, account.headline),
        make("p", { class: "quiet" }, circumstances(report, account)),
        lines(account),
        ...findings(report, account),
        ...account.notes.map((note) => make("p", {}, ...prose(note))),
        ...(holders.length === 0 ? [] : [make("h3", {}, "Largest reachable tensors"), make("ol", {}, ...holders)]),
    );
}

// Undefined if the report has no account.
export function memoryView(report: Report): HTMLElement | undefined {
    const accounts = sortedAccounts(report);
    return accounts.length === 0
        ? undefined
        : make("div", { id: "memory" }, ...accounts.map((account, i) => section(report, account, i + 1)));
}
