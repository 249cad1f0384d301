// SPDX-License-Identifier: Apache-2.0
// A finding as Markdown, to be sent to somebody, and as an issue for the maintainers of the code.
import { counted, formatBytes } from "../page/format";
import { cleanText, shownName, truncateMiddle } from "../page/text";
import type { Finding, Report } from "../report/schema";
import type { CodeLine, FindingTexts } from "../report/texts";

type Reference = Finding["cut"][number];

const LONGEST_TITLE = 200;
const MOST_OWNERS = 5;
const MOST_STEPS = 40;
const MOST_ALIKE = 8; // further references of a cut

// Longer than every run of backticks in the text.
function fence(text: string, least: number): string {
    const runs = text.match(/`+/g) ?? [];
    return "`".repeat(Math.max(least, ...runs.map((run) => run.length + 1)));
}

function code(name: string): string {
    const text = shownName(name);
    const mark = fence(text, 1);
    const space = /^`|`$/.test(text) ? " " : "";
    return `${mark}${space}${text}${space}${mark}`;
}

// Characters with a meaning in Markdown are escaped outside of code.
function prose(sentence: string): string {
    const parts = cleanText(sentence).split(/(`[^`]*`)/);
    return parts.map((part, i) => (i % 2 === 1 ? part : part.replace(/[\\`*_<>[\]#@|~]/g, "\\$&"))).join("");
}

function block(lines: readonly string[], language: string): string {
    const text = lines.map((line) => cleanText(line)).join("\n");
    const mark = fence(text, 3);
    return `${mark}${language}\n${text}\n${mark}`;
}

function place({ label, holder, location }: Reference): string {
    return `${code(label)} of ${code(holder)}${location === "" ? "" : ` at ${code(location)}`}`;
}

function source(lines: readonly CodeLine[]): string[] {
    const texts = lines.map(({ before, expression, after, here }) => `${before}${expression}${after}${here ? "  # <-" : ""}`);
    return texts.length === 0 ? [] : [block(texts, "python")];
}

function whatToCut(finding: Finding, texts: FindingTexts): string[] {
    const [main, ...others] = texts.changes.flatMap((change) => {
        const reference = finding.cut[change.first];
        return reference === undefined ? [] : [{ change, reference }];
    });
    if (main === undefined) {
        return [];
    }
    const shown = others.slice(0, MOST_ALIKE).map(({ reference }) => `- ${place(reference)}`);
    const rest = others.length - shown.length;
    const list = [...shown, ...(rest > 0 ? [`- ${counted(rest, "more location")}`] : [])];
    const also = list.length === 0 ? [] : ["and all of these:", list.join("\n")];
    const cost = finding.cost === "" ? "" : ` Cost: ${prose(finding.cost)}.`;
    const fix = finding.advice === "" ? [] : [`**Fix:** ${prose(finding.advice)}${cost}`];
    return [`**Cut** ${place(main.reference)}`, ...source(main.change.code), ...also, ...fix];
}

function owners({ owners: groups, omitted_owners }: Finding): string[] {
    const shown = groups.slice(0, MOST_OWNERS);
    const rest = groups.length - shown.length + omitted_owners;
    const line = ({ count, bytes, type, shape, dtype, device, path }: (typeof groups)[number]): string =>
        `- ${count} x ${formatBytes(bytes)} ${code([type, shape, dtype, device].filter((word) => word !== "").join(" "))}` +
        (path === "" ? "" : ` at ${code(path)}`);
    const lines = [...shown.map(line), ...(rest > 0 ? [`- ${counted(rest, "more group")}`] : [])];
    return lines.length === 0 ? [] : [["It keeps alive:", ...lines].join("\n")];
}

function signature({ signature: text }: Finding): string {
    return `Signature ${code(text)}, as cyclewatch prints it`;
}

const paragraphs = (...parts: readonly string[]): string => `${parts.join("\n\n")}\n`;

export function asMarkdown(finding: Finding, texts: FindingTexts): string {
    const title = code(truncateMiddle(finding.title, LONGEST_TITLE));
    return paragraphs(
        `### ${texts.size} in ${counted(finding.occurrences, "cycle")}: ${title}`,
        prose(texts.headline),
        ...whatToCut(finding, texts),
        ...owners(finding),
        `${signature(finding)}.`,
    );
}

// The first line is the title. It contains no names of the program but those of the cycle.
export function asIssue(report: Report, finding: Finding, texts: FindingTexts): string {
    const [main] = finding.cut;
    const target = main === undefined ? "" : ` through ${code(main.target)}`;
    const steps = finding.cycle.slice(0, MOST_STEPS).map((step) => {
        const place = step.location === "" ? "" : `  # ${step.location}`;
        return `${shownName(step.holder)}  ${shownName(step.label)} -> ${shownName(step.target)}${place}`;
    });
    const more = finding.cycle.length - steps.length;
    const cycle = [...steps, ...(more > 0 ? [`... ${counted(more, "more reference")}`] : [])];
    const [program] = report.processes;
    const versions = program === undefined ? "" : `Python ${program.python_version}, cyclewatch ${program.cyclewatch_version}. `;
    return paragraphs(
        `# Reference cycle${target} keeps device memory alive until the garbage collector runs`,
        prose(texts.headline),
        "References of the cycle:",
        block(cycle, "text"),
        ...whatToCut(finding, texts),
        ...owners(finding),
        `${versions}${signature(finding)}. Version of the library: (please add)`,
    );
}
