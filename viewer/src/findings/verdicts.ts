// SPDX-License-Identifier: Apache-2.0
// The reader's verdict and note on each finding, and the button that saves them.
import { announce, button, field, make } from "../page/dom";
import { counted } from "../page/format";
import { download, fileName, type PageCopy } from "../report/save";
import { VERDICTS, type Finding, type Report, type Verdict } from "../report/schema";

const NAMES: Record<Verdict, string> = {
    "": "none",
    bug: "bug",
    accepted: "accepted",
    unclear: "unclear",
};

export class Unsaved {
    readonly #changed = new Set<Finding>();
    readonly #text = make("span");
    readonly #bar: HTMLElement;

    constructor(report: Report, copy: PageCopy) {
        const save = (): void => {
            void copy.with(report).then((page) => {
                download(fileName(), page);
                this.#changed.clear();
                this.#show();
                announce("A copy of the report with your verdicts was saved");
            });
        };
        this.#bar = make(
            "section",
            { class: "unsaved", "aria-label": "Unsaved verdicts", hidden: true },
            this.#text,
            button("Save a copy…", save, { class: "strong" }),
        );
        document.body.append(this.#bar);
        window.addEventListener("beforeunload", (event) => {
            if (this.#changed.size > 0) {
                event.preventDefault();
            }
        });
    }

    add(finding: Finding): void {
        this.#changed.add(finding);
        this.#show();
    }

    #show(): void {
        this.#bar.hidden = this.#changed.size === 0;
        const findings = counted(this.#changed.size, "finding");
        this.#text.textContent = `Unsaved changes to ${findings}.`;
    }
}

function verdictChoice(finding: Finding, number: number, changed: () => void): HTMLElement {
    const choice = make("fieldset", { class: "verdict" }, make("legend", {}, "Your verdict"));
    for (const verdict of VERDICTS) {
        const input = make("input", { type: "radio", name: `verdict-${number}`, value: verdict });
        input.checked = finding.verdict === verdict;
        input.addEventListener("change", () => {
            finding.verdict = verdict;
            changed();
        });
        choice.append(make("label", {}, input, make("span", {}, NAMES[verdict])));
    }
    return choice;
}

function noteField(finding: Finding, changed: () => void): HTMLElement {
    const text = make("textarea", { rows: 1, placeholder: "reason, assignee" });
    text.value = finding.note;
    text.addEventListener("input", () => {
        finding.note = text.value;
        changed();
    });
    return field("Your note", text, "note");
}

export function verdictForm(card: HTMLElement, finding: Finding, index: number, unsaved: Unsaved): HTMLElement {
    const changed = (): void => {
        card.dataset.verdict = finding.verdict;
        unsaved.add(finding);
    };
    card.dataset.verdict = finding.verdict;
    return make(
        "form",
        { class: "opinion", "aria-label": `Your verdict on finding ${index + 1}` },
        verdictChoice(finding, index, changed),
        noteField(finding, changed),
    );
}
