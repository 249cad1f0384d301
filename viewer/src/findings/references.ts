// SPDX-License-Identifier: Apache-2.0
// The references to cut and their alternatives, with the code at their locations.
import { make } from "../page/dom";
import { counted } from "../page/format";
import { more } from "../page/table";
import { cleanText, code, prose, shownName } from "../page/text";
import type { Finding } from "../report/schema";
import type { ChangeTexts, CodeLine, FindingTexts } from "../report/texts";

type Reference = Finding["cut"][number];
type Parts = (Node | string)[];

const MOST_ALTERNATIVES = 6;
const MOST_CUTS = 3; // if there are more, only the first is shown in full

function locationOf({ location, base_class }: Reference): Parts {
    if (location === "") {
        return [];
    }
    const base = base_class === "" ? [] : [" (class ", code(base_class), ")"];
    return [" ", make("span", { class: "where" }, code(location), ...base)];
}

// "9 references in 3 classes: Saver, also Early ..."; nothing for one reference.
function numberOf(change: ChangeTexts): Parts {
    if (change.references <= 1) {
        return [];
    }
    const others = change.holders.slice(1).flatMap((holder, i) => [i === 0 ? ", also " : ", ", code(holder)]);
    return [make("br"), `${counted(change.references, "reference")} in ${change.counted_holders}`, ...others];
}

// The code at the location. Long lines may scroll inside the box, so the box must be focusable.
function sourceOf(reference: Reference, lines: readonly CodeLine[]): Parts {
    if (lines.length === 0) {
        return [];
    }
    const rows = lines.map(({ number, before, expression, after, here }) =>
        make(
            here ? "mark" : "span",
            { class: "line" },
            make("span", { class: "number" }, number),
            before,
            ...(expression === "" ? [] : [make("u", {}, expression)]),
            after,
        ),
    );
    const label = `Code at ${shownName(reference.location)}`;
    return [make("pre", { class: "source", role: "region", tabindex: 0, "aria-label": label }, make("code", {}, ...rows))];
}

// The label and location come first, because they identify the code to change.
function choice(reference: Reference, lines: readonly CodeLine[], heading = "", number: Parts = []): HTMLElement {
    const { label, reason, holder, holder_path, target } = reference;
    const why = reason === "" ? [] : [make("p", { class: "why" }, heading, ...prose(reason))];
    const path = holder_path === "" ? [] : [" (", code(holder_path), ")"];
    const ends = [make("span", {}, "from"), " ", code(holder), ...path, make("br"), make("span", {}, "to"), " ", code(target)];
    return make(
        "div",
        { class: "choice" },
        make("p", { class: "reference" }, code(label, "name"), ...locationOf(reference)),
        ...sourceOf(reference, lines),
        ...why,
        make("p", { class: "ends" }, ...ends, ...number),
    );
}

function advice(finding: Finding): HTMLElement[] {
    if (finding.advice === "") {
        return [];
    }
    const cost = finding.cost === "" ? [] : [" Cost: ", ...prose(finding.cost), "."];
    return [make("p", { class: "instead" }, make("b", {}, "Fix:"), " ", ...prose(finding.advice), ...cost)];
}

interface Change {
    texts: ChangeTexts;
    first: Reference;
}

function named({ first, texts }: Change): Parts {
    const all = texts.references === texts.holders.length;
    const number = all ? "" : ` (${counted(texts.references, "reference")})`;
    return [code(first.label, "name"), " of ", texts.classes === "" ? code(shortName(first.holder)) : cleanText(texts.classes), number];
}

// "loop._Loop" -> "_Loop"
function shortName(holder: string): string {
    return holder.replace(/(?:\w+\.)+(?=\w+$)/, "");
}

// One line, which opens to the whole change.
function foldedChange(change: Change, place: string): HTMLElement {
    const where = place === "" ? [] : [" at ", code(place)];
    const whole = choice(change.first, change.texts.code, "", numberOf(change.texts));
    return make("li", {}, make("details", {}, make("summary", {}, ...named(change), ...where), whole));
}

// The changes that are not shown in full, by file.
function changeList(changes: readonly Change[]): HTMLElement[] {
    const files = new Map<string, Change[]>();
    for (const change of changes) {
        const file = change.first.location.replace(/:\d+$/, "");
        files.set(file, [...(files.get(file) ?? []), change]);
    }
    const entries = [...files].map(([file, of]) => {
        if (file === "" || of.length === 1) {
            return of.map((change) => foldedChange(change, change.first.location));
        }
        const lines = of.map((change) => foldedChange(change, `line ${change.first.location.slice(file.length + 1)}`));
        return [make("li", {}, code(file), make("ul", {}, ...lines))];
    });
    return [make("ul", { class: "locations" }, ...entries.flat())];
}

function folded(changes: readonly Change[]): HTMLElement[] {
    const heading = `and ${counted(changes.length, "more change")}:`;
    return changes.length === 0 ? [] : [make("p", { class: "more" }, heading), ...changeList(changes)];
}

export function cutSection(finding: Finding, texts: FindingTexts): HTMLElement {
    const changes = texts.changes.flatMap((change): Change[] => {
        const first = finding.cut[change.first];
        return first === undefined ? [] : [{ texts: change, first }];
    });
    const [main] = finding.cut;
    if (main === undefined) {
        const text = "No reference is clearly the best one to cut. Cut any reference in the cycle below.";
        return make("section", { class: "cut none" }, make("h3", {}, "What to cut"), make("p", {}, text));
    }
    const [equal] = finding.tie ? finding.alternatives : [];
    const one = finding.cut.length === 1 ? "Cut this reference" : "Cut all of these";
    const title = main.payload ? "Keep the cycle, free its memory" : equal === undefined ? one : "Cut either of these";
    const full = changes.length > MOST_CUTS ? 1 : MOST_CUTS;
    const choices = changes.slice(0, full).map((each) => choice(each.first, each.texts.code, "", numberOf(each.texts)));
    if (equal !== undefined) {
        choices.push(choice(equal, texts.alternative_code[0] ?? [], "Cost: "));
    }
    return make(
        "section",
        { class: "cut" },
        make("h3", {}, title),
        make("div", { class: "choices" }, ...choices),
        ...folded(changes.slice(full)),
        ...more(finding.omitted_cuts, "more kind", " of references"),
        ...advice(finding),
    );
}

export function alternatives(finding: Finding, texts: FindingTexts): HTMLElement[] {
    const shown = finding.alternatives
        .map((reference, i) => ({ reference, lines: texts.alternative_code[i] ?? [] }))
        .slice(finding.tie ? 1 : 0); // the first is shown beside the cut
    const list = (payload: boolean, title: string): HTMLElement[] => {
        const items = shown
            .filter(({ reference }) => reference.payload === payload)
            .slice(0, MOST_ALTERNATIVES)
            .map(({ reference, lines }) => make("li", {}, choice(reference, lines, "Cost: ")));
        return items.length === 0 ? [] : [make("section", { class: "other" }, make("h3", {}, title), make("ul", {}, ...items))];
    };
    return [...list(false, "Or cut this instead"), ...list(true, "Or keep the cycle and free the tensor")];
}
