// SPDX-License-Identifier: Apache-2.0
// The tables of the tab "Live": growing and reachable tensors.
import { make, makeSvg } from "../page/dom";
import { formatBytes, formatCount, processName } from "../page/format";
import { bar, cell, more, number, panel, scrollingTable, type Column } from "../page/table";
import { cleanText, code, prose, shownName, truncateEnd, truncateMiddle } from "../page/text";
import type { GrowingOwner, LiveOwner, Report } from "../report/schema";
import type { Texts } from "../report/texts";

const MOST_GROUPS = 500;
const LONGEST_PATH = 200;
const LONGEST_DETAILS = 100;

const HELD_BY: Column = { title: "Held by" };
const LAST_COLUMNS: Column[] = [{ title: "Number", number: true }, { title: "Tensor" }, { title: "Device" }];

// A cell that contains `text` and a bar. The bar shows `value` relative to `largest`.
function numberWithBar(text: string, value: number, largest: number): HTMLElement {
    return number(make("span", {}, text), bar([{ style: "own", value }], largest));
}

// The total size of a group in each of the latest censuses.
function historyChart(sizes: readonly number[]): SVGElement[] {
    const largest = Math.max(...sizes);
    if (sizes.length === 0) {
        return [];
    }
    const bars = sizes.map((bytes, i) => {
        const height = largest > 0 ? (20 * bytes) / largest : 0;
        return makeSvg("rect", { class: "own", x: 10 * i, y: 20 - height, width: 8, height });
    });
    const label = `in the last censuses: ${sizes.map(formatBytes).join(", ")}`;
    return [makeSvg("svg", { class: "history", viewBox: "0 0 58 20", role: "img", "aria-label": label }, ...bars)];
}

// "cuda:0", or "cuda:0, rank 3" if there are several processes.
function deviceCell(report: Report, { owner, process }: LiveOwner | GrowingOwner): HTMLElement {
    const name = report.processes.length > 1 ? `, ${processName(report.processes[process])}` : "";
    return cell(truncateEnd(cleanText(owner.device + name), LONGEST_DETAILS));
}

// "torch.Tensor [1024] float32"
function tensorCell({ type, shape, dtype, allocated_at }: LiveOwner["owner"]): HTMLElement {
    const made = cell(code(type));
    const details = truncateEnd(cleanText(`${shape} ${dtype}`.trim()), LONGEST_DETAILS);
    if (details !== "") {
        made.append(" ", make("span", { class: "details" }, details));
    }
    if (allocated_at !== "") {
        made.append(" ", make("span", { class: "where" }, code(allocated_at)));
    }
    return made;
}

// Allows line breaks before and after each arrow, but not inside an arrow.
function pathText(path: string): (Node | string)[] {
    if (path === "") {
        return [make("span", { class: "quiet" }, "not known")];
    }
    const steps = truncateMiddle(shownName(path), LONGEST_PATH).split(" -> ");
    return steps.flatMap((step, i) => (i === 0 ? [code(step)] : [" ", code("->", "arrow"), " ", code(step)]));
}

function quiet(text: string): HTMLElement {
    return make("p", { class: "quiet" }, ...prose(text));
}

function heldBy(live: LiveOwner): HTMLElement {
    const heading = make("th", { scope: "row" });
    for (const { text, root, remedy, cut_frees } of live.held_by) {
        const path = make("p", {}, ...pathText(text));
        if (root.location !== "") {
            path.append(" ", make("span", { class: "where" }, code(root.location)));
        }
        heading.append(path);
        if (remedy !== undefined && cut_frees) {
            heading.append(quiet(`To free ${live.owner.count > 1 ? "them" : "it"}, ${remedy}`));
        }
    }
    if (live.held_by.length === 0) {
        heading.append(...pathText(""));
    }
    return heading;
}

function liveRow(report: Report, live: LiveOwner, index: number, largest: number): HTMLElement {
    return make(
        "tr",
        { id: `live-${index + 1}`, "data-live": index, tabindex: -1 },
        numberWithBar(formatBytes(live.bytes), live.bytes, largest),
        heldBy(live),
        cell(live.category),
        number(formatCount(live.owner.count)),
        tensorCell(live.owner),
        deviceCell(report, live),
    );
}

function growingRow(report: Report, growing: GrowingOwner, texts: Texts["growing"][number], largest: number): HTMLElement {
    const heading = make("th", { scope: "row" }, make("p", {}, ...pathText(growing.held_by)));
    if (growing.remedy !== undefined) {
        heading.append(quiet(`To stop the growth, ${growing.remedy}`));
    }
    return make(
        "tr",
        {},
        numberWithBar(texts.rate, growing.rate, largest),
        heading,
        number(make("span", {}, formatBytes(growing.bytes)), ...historyChart(growing.census_bytes)),
        number(texts.full_in),
        number(formatCount(growing.owner.count)),
        tensorCell(growing.owner),
        deviceCell(report, growing),
    );
}

// States when the tensors were listed.
function censusLine({ census }: Texts): HTMLElement[] {
    return census === "" ? [] : [quiet(`Census at ${census}.`)];
}

function growingSection(report: Report, texts: Texts): HTMLElement[] {
    const all = report.growing ?? [];
    const rates = { step: 0, second: 0 };
    all.forEach(({ unit, rate }) => (rates[unit] = Math.max(rates[unit], rate)));
    const rows = all.slice(0, MOST_GROUPS).flatMap((growing, i) => {
        const text = texts.growing[i];
        return text === undefined ? [] : [growingRow(report, growing, text, rates[growing.unit])];
    });
    const columns = [
        { title: "Growth", number: true },
        HELD_BY,
        { title: "Size", number: true },
        { title: "Memory full in", number: true },
        ...LAST_COLUMNS,
    ];
    const table = scrollingTable("Tensors whose memory grew from census to census", columns, rows);
    const rest = more(all.length - MOST_GROUPS, "smaller group");
    return all.length === 0 ? [] : [panel("growing", "What grows?", ...censusLine(texts), table, ...rest)];
}

function liveSection(report: Report, texts: Texts): HTMLElement[] {
    const all = report.live_owners ?? [];
    const largest = all.reduce((most, { bytes }) => Math.max(most, bytes), 0);
    const rows = all.slice(0, MOST_GROUPS).map((live, i) => liveRow(report, live, i, largest));
    const columns = [{ title: "Size", number: true }, HELD_BY, { title: "Category" }, ...LAST_COLUMNS];
    const table = scrollingTable("The largest reachable tensors", columns, rows);
    const rest = more(all.length - MOST_GROUPS, "smaller group");
    return all.length === 0 ? [] : [panel("live-owners", "What is alive?", ...censusLine(texts), table, ...rest)];
}

// The tab; undefined if there was no census.
export function liveView(report: Report, texts: Texts): HTMLElement | undefined {
    const sections = [...growingSection(report, texts), ...liveSection(report, texts)];
    return sections.length === 0 ? undefined : make("div", { id: "live" }, ...sections);
}
