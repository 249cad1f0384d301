// SPDX-License-Identifier: Apache-2.0
// The parts of a card below the advice: tables, the times at which the finding was seen, and the explanation of its pattern.
import { make } from "../page/dom";
import { formatBytes, formatCount, formatDuration } from "../page/format";
import { cell, more, number, scrollingTable, type Column } from "../page/table";
import { code, shownName } from "../page/text";
import type { Finding } from "../report/schema";
import type { FindingTexts, PatternTexts } from "../report/texts";

type Owner = Finding["owners"][number];

const MOST_OWNERS = 40;
const MOST_RAW_REFERENCES = 20; // in one step

function nameCell(name: string): HTMLElement {
    return cell(...(name === "" ? [] : [code(name)]));
}

// The allocation site, which opens to the whole call stack if that is known.
function siteCell({ allocated_at, allocation_stack }: Owner): HTMLElement {
    if (allocation_stack === undefined) {
        return nameCell(allocated_at);
    }
    const frames = allocation_stack.map((frame) => `${shownName(frame)}\n`).join("");
    const stack = make("details", { class: "stack" }, make("summary", {}, code(allocated_at)), make("pre", {}, frames));
    return cell(stack);
}

export function ownerTable({ owners, omitted_owners }: Finding): HTMLElement[] {
    if (owners.length === 0) {
        return [];
    }
    const sites = owners.some(({ allocated_at }) => allocated_at !== "");
    const shown = owners.slice(0, MOST_OWNERS);
    const rows = shown.map((owner) =>
        make(
            "tr",
            {},
            number(formatCount(owner.count)),
            number(formatBytes(owner.bytes)),
            nameCell(owner.type),
            cell(shownName(owner.shape)),
            cell(shownName(owner.dtype)),
            cell(shownName(owner.device)),
            nameCell(owner.path),
            ...(sites ? [siteCell(owner)] : []),
        ),
    );
    const columns: Column[] = [
        { title: "Count", number: true },
        { title: "Size", number: true },
        ...["Type", "Shape", "Dtype", "Device", "Path", ...(sites ? ["Allocated at"] : [])].map((title) => ({ title })),
    ];
    return [
        scrollingTable("Memory that the cycle kept alive", columns, rows),
        ...more(owners.length - shown.length + omitted_owners, "more group", " of owners"),
    ];
}

export function variantTable({ variants, omitted_variants }: Finding): HTMLElement[] {
    if (variants.length === 0) {
        return [];
    }
    const rows = variants.map((variant) =>
        make(
            "tr",
            {},
            nameCell(variant.name),
            nameCell(variant.location),
            number(formatCount(variant.occurrences)),
            number(formatBytes(variant.bytes)),
            nameCell(variant.title),
            nameCell(variant.signature),
        ),
    );
    const columns = [
        { title: "Object" },
        { title: "Cut at" },
        { title: "Cycles", number: true },
        { title: "Bytes", number: true },
        { title: "Cycle" },
        { title: "Signature" },
    ];
    const table = scrollingTable("Cycles fixed by the same change", columns, rows);
    return [table, ...more(omitted_variants, "more signature")];
}

function rawPath({ raw_path }: Finding["cycle"][number]): HTMLElement {
    const shown = raw_path.slice(0, MOST_RAW_REFERENCES).flatMap((each, i) => (i === 0 ? [code(each)] : [" ", code(each)]));
    return cell(...shown, raw_path.length > MOST_RAW_REFERENCES ? " ..." : "");
}

export function cycleDetails({ cycle }: Finding, texts: FindingTexts): HTMLElement[] {
    if (cycle.length === 0) {
        return [];
    }
    const rows = cycle.slice(0, texts.shown_steps).map((step, i) =>
        make(
            "tr",
            {},
            number(String(i + 1)),
            nameCell(step.holder),
            nameCell(step.label),
            nameCell(step.target),
            nameCell(step.location),
            rawPath(step),
        ),
    );
    const others = ["Holder", "Reference", "Target", "Location", "Raw references"];
    const columns = [{ title: "Step", number: true }, ...others.map((title) => ({ title }))];
    const table = scrollingTable("References of the cycle, in order", columns, rows);
    const summary = make("summary", {}, "All references of the cycle");
    return [make("details", {}, summary, table, ...more(texts.more_steps, "more step"))];
}

export function whenSection(finding: Finding): HTMLElement {
    const kind =
        (finding.scans ?? 0) === 0 ? "collection" : finding.collections === 0 ? "scan" : "collection or scan";
    const step = finding.by_process.first_step[0] ?? -1;
    const sentence =
        `First seen ${formatDuration(finding.first_seen)} into the run, in ${kind} ` +
        formatCount(finding.first_collection) +
        (step < 0 ? "" : ` at step ${formatCount(step)}`) +
        (finding.last_seen > finding.first_seen ? `; last seen after ${formatDuration(finding.last_seen)}` : "");
    return make(
        "section",
        { class: "when" },
        make("h3", {}, "When it was seen"),
        make("p", { class: "quiet" }, `${sentence}.`),
    );
}

// Long lines scroll inside the box, so the box must be focusable.
function codeSample(title: string, style: string, lines: string): HTMLElement {
    const box = make("pre", { role: "region", tabindex: 0, "aria-label": title }, make("code", {}, lines));
    return make("div", { class: style }, make("h3", {}, title), box);
}

function publicCases(links: readonly string[]): HTMLElement[] {
    const items = links.map((href) => make("li", {}, make("a", { rel: "noreferrer", href }, href)));
    return items.length === 0
        ? []
        : [make("h3", { class: "cases" }, "Public examples"), make("ul", { class: "links" }, ...items)];
}

// Nothing if the pattern is not built in.
export function patternDetails(pattern: PatternTexts | undefined): HTMLElement[] {
    if (pattern === undefined) {
        return [];
    }
    return [
        make(
            "details",
            { class: "pattern" },
            make("summary", {}, `About this pattern: ${pattern.title}`),
            ...(pattern.shape === "" ? [] : [make("p", { class: "explanation" }, `Shape: ${pattern.shape}.`)]),
            make(
                "div",
                { class: "before-after" },
                codeSample("Before", "before", pattern.before),
                codeSample("After", "after", pattern.after),
            ),
            ...publicCases(pattern.links),
        ),
    ];
}

export function signatureLine({ signature }: Finding): HTMLElement {
    const hint = make("span", { class: "hint" }, "identical across runs, ranks and machines");
    return make("p", { class: "signature" }, "Signature ", code(signature), " ", hint);
}
