// SPDX-License-Identifier: Apache-2.0
// Adds the interactive controls to the cards. Complete cards get them immediately, light cards
// (src/render/html/html_parts.h) when they are near the viewport or the browser is idle.
import { all } from "../page/dom";
import { onVisibleOrIdle } from "../page/lazy";
import { makePicturesZoomable } from "../picture/zoom";
import type { PageCopy } from "../report/save";
import type { Report } from "../report/schema";
import { Histories } from "../timeline/history";
import { addLocationButtons } from "./places";
import { addVerdict, Unsaved } from "./verdicts";

const CARDS = ".card[data-finding]";

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
