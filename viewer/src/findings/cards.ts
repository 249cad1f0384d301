// SPDX-License-Identifier: Apache-2.0
// Gives each card what a hand needs. The cards that are whole in the file have it at once; those
// that C++ made light (src/render/html/html_finding.h) when a reader comes near, or the browser has time.
import { all } from "../page/dom";
import { onVisibleOrIdle } from "../page/lazy";
import { makePicturesZoomable } from "../picture/zoom";
import type { PageCopy } from "../report/save";
import type { Report } from "../report/schema";
import { Histories } from "../timeline/history";
import { addPlaceButtons } from "./places";
import { addVerdict, Unsaved } from "./verdicts";

const CARDS = ".card[data-finding]";

// What stands in <noscript> is a text to a browser that runs scripts: the page's own markup, written
// and escaped like the rest of the file. It becomes the elements that it is without scripts.
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
        const dress = (): void => {
            unfold(card);
            makePicturesZoomable(card);
            addPlaceButtons(card);
            if (finding !== undefined) {
                addVerdict(card, finding, number, unsaved);
                histories.draw(card, finding);
            }
        };
        if (card.querySelector("noscript") === null) {
            dress();
        } else {
            onVisibleOrIdle(card, dress);
        }
    }
}

// For when there is nothing to dress them with.
export function unfoldCards(): void {
    all(CARDS).forEach(unfold);
}
