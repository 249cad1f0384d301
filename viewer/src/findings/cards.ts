// SPDX-License-Identifier: Apache-2.0
// Draws the cards, and shows the chosen ones. The contents of the first cards are drawn immediately, those of the others
// when they are near the viewport or the browser is idle: a thousand complete cards would block the browser.
import { all, arrange, byId, make } from "../page/dom";
import { onVisibleOrIdle } from "../page/lazy";
import { makePicturesZoomable } from "../picture/zoom";
import type { PageCopy } from "../report/save";
import type { Finding, Report } from "../report/schema";
import type { FindingTexts, Texts } from "../report/texts";
import { Histories } from "../timeline/history";
import { cardContents, cardHeading } from "./card";
import { isNarrowed } from "./choice";
import { addLocationButtons, sharing } from "./locations";
import type { State } from "./state";
import { Unsaved, verdictForm } from "./verdicts";

const MOST_COMPLETE_CARDS = 20;
const ENTRIES = "[data-finding]";

class Cards {
    readonly #histories: Histories;
    readonly #unsaved: Unsaved;
    #complete = 0;

    constructor(
        private readonly report: Report,
        private readonly texts: Texts,
        copy: PageCopy,
    ) {
        this.#histories = new Histories(report);
        this.#unsaved = new Unsaved(report, copy);
    }

    // The cards of the findings in a section that starts with `start`; nothing if there are none.
    section(attributes: Record<string, string>, start: HTMLElement[], belongs: (finding: Finding, texts: FindingTexts) => boolean): HTMLElement[] {
        const cards = this.report.findings.flatMap((finding, i) => {
            const texts = this.texts.findings[i];
            return texts !== undefined && belongs(finding, texts) ? [this.#card(finding, i, texts)] : [];
        });
        return cards.length === 0
            ? []
            : [make("section", attributes, ...start, make("div", { "data-findings": true }, ...cards))];
    }

    #card(finding: Finding, index: number, texts: FindingTexts): HTMLElement {
        const number = index + 1;
        const card = make(
            "article",
            { class: "card", id: `finding-${number}`, "data-finding": index, "aria-labelledby": `h${number}` },
            cardHeading(finding, number, texts),
        );
        const complete = (): void => {
            const verdict = verdictForm(card, finding, index, this.#unsaved);
            const contents = cardContents(finding, number, texts, this.texts.patterns);
            card.append(...contents, sharing(this.report, finding, texts), verdict);
            makePicturesZoomable(card);
            addLocationButtons(card);
            this.#histories.draw(card, finding);
        };
        this.#complete += 1;
        if (this.#complete <= MOST_COMPLETE_CARDS) {
            complete();
        } else {
            onVisibleOrIdle(card, complete);
        }
        return card;
    }
}

export function drawCards(report: Report, texts: Texts, copy: PageCopy): void {
    const cards = new Cards(report, texts, copy);
    const isNew = ({ status }: Finding): boolean => status === "new";
    const heading = (id: string, title: string, text: string): HTMLElement[] => [make("h2", { id }, title), make("p", {}, text)];
    byId("cards").append(
        ...cards.section({ class: "new", "aria-label": "Findings" }, [], (finding, { never_freed }) => isNew(finding) && !never_freed),
        ...cards.section(
            { class: "new never-freed", "aria-labelledby": "never-freed" },
            heading("never-freed", "Never freed", texts.never_freed),
            (_, { never_freed }) => never_freed,
        ),
        ...cards.section(
            { class: "not-new", "data-foldable": "", "aria-labelledby": "not-new" },
            heading("not-new", "Not new", "Known, library, benign and ignored findings. They cause no warnings and no failures."),
            (finding) => !isNew(finding),
        ),
    );
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
