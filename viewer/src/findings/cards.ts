// SPDX-License-Identifier: Apache-2.0
// Adds the interactive controls to the cards, and shows the chosen ones. Complete cards get them immediately, light cards
// (src/render/html/html_parts.h) when they are near the viewport or the browser is idle.
import { all, arrange, byId, make } from "../page/dom";
import { onVisibleOrIdle } from "../page/lazy";
import { makePicturesZoomable } from "../picture/zoom";
import type { PageCopy } from "../report/save";
import type { Report } from "../report/schema";
import { Histories } from "../timeline/history";
import { isNarrowed } from "./choice";
import { addLocationButtons } from "./locations";
import type { State } from "./state";
import { addVerdict, Unsaved } from "./verdicts";

const CARDS = ".card[data-finding]";
const ENTRIES = "[data-finding]";

// Browsers with scripts enabled parse <noscript> as text. Its markup is generated and escaped like the
// rest of the page, so it is safe to parse.
function unfold(card: HTMLElement): void {
    const rest = card.querySelector("noscript");
    if (rest !== null) {
        const page = new DOMParser().parseFromString(rest.textContent, "text/html");
        rest.replaceWith(...page.body.childNodes);
    }
}

export function enhanceCards(report: Report, copy: PageCopy): void {
    const histories = new Histories(report);
    const unsaved = new Unsaved(report, copy);
    for (const card of all(CARDS)) {
        const number = Number(card.dataset.finding);
        const finding = report.findings[number];
        const enhance = (): void => {
            unfold(card);
            makePicturesZoomable(card);
            addLocationButtons(card);
            if (finding !== undefined) {
                addVerdict(card, finding, number, unsaved);
                histories.draw(card, finding);
            }
        };
        if (card.querySelector("noscript") === null) {
            enhance();
        } else {
            onVisibleOrIdle(card, enhance);
        }
    }
}

// Fallback if the report cannot be read.
export function unfoldCards(): void {
    all(CARDS).forEach(unfold);
}

// Hides and reorders the cards and bars according to the current selection.
export function showChosenFindings(state: State): void {
    const lists = all("[data-findings]");
    const nothing = make("p", { class: "nothing", hidden: true }, "No findings match.");
    byId("tools").after(nothing);
    state.watch((shown, choice) => {
        const positions = new Map(shown.map((finding, i) => [finding, i]));
        for (const list of lists) {
            arrange(list, "finding", positions);
            // Hide sections without visible entries.
            const section = list.closest<HTMLElement>("[data-foldable]");
            if (section !== null) {
                section.hidden = list.querySelector(`:scope > ${ENTRIES}:not([hidden])`) === null;
                if (section instanceof HTMLDetailsElement && isNarrowed(choice)) {
                    section.open = true;
                }
            }
        }
        nothing.hidden = shown.length > 0 || !isNarrowed(choice);
    });
}
