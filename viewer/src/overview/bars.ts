// SPDX-License-Identifier: Apache-2.0
// One bar for each finding, with its retained and shared bytes.
import { make } from "../page/dom";
import { counted, formatBytes } from "../page/format";
import { bar } from "../page/table";
import { shownName, truncateMiddle } from "../page/text";
import type { Finding, Report } from "../report/schema";

const MOST_BARS = 12; // not collapsed
const MOST_FOLDED_BARS = 1000;
const LONGEST_LABEL = 90;

function entry(finding: Finding, index: number, largest: number): HTMLElement {
    const own = finding.retained_bytes;
    const shared = finding.shared_bytes;
    const link = make(
        "a",
        { href: `#finding-${index + 1}` },
        make("span", { class: "rank" }, String(index + 1)),
        make("span", { class: "label" }, truncateMiddle(shownName(finding.title), LONGEST_LABEL)),
        bar([{ style: "own", value: own }, { style: "shared", value: shared }], largest),
        make("span", { class: "bytes" }, formatBytes(own + shared)),
    );
    return make("li", { "data-finding": index, ...(finding.status === "new" ? {} : { class: "not-new" }) }, link);
}

function list(report: Report, first: number, last: number, largest: number): HTMLElement {
    const entries = report.findings.slice(first, last).map((finding, i) => entry(finding, first + i, largest));
    return make("ol", { class: "bars", "data-findings": true }, ...entries);
}

export function findingBars(report: Report): HTMLElement[] {
    const total = report.findings.length;
    if (total === 0) {
        return [];
    }
    const largest = report.findings.reduce((most, one) => Math.max(most, one.retained_bytes + one.shared_bytes), 0);
    const nav = make("nav", { "aria-label": "Findings, largest first" }, list(report, 0, MOST_BARS, largest));
    if (total > MOST_BARS) {
        const summary = make("summary", {}, `and ${counted(total - MOST_BARS, "smaller finding")}`);
        nav.append(make("details", { "data-foldable": true }, summary, list(report, MOST_BARS, MOST_FOLDED_BARS, largest)));
    }
    if (report.findings.some(({ shared_bytes }) => shared_bytes > 0)) {
        const key = (kind: string, text: string): HTMLElement => make("span", { class: `key ${kind}` }, text);
        const keys = [key("own", "retained by this finding"), " ", key("shared", "shared with other objects")];
        nav.append(make("p", { class: "key-line" }, ...keys));
    }
    return [nav];
}
