// SPDX-License-Identifier: Apache-2.0
// Buttons that copy locations, signatures and whole cards, and links that open locations in the selected editor.
import { all, announce, button, make } from "../page/dom";
import type { Finding, Report } from "../report/schema";
import type { FindingTexts } from "../report/texts";
import { editorLink, onEditorChange } from "./editors";
import { asIssue, asMarkdown } from "./markdown";

const COPIED_FOR = 1500; // milliseconds

// The clipboard API needs a secure context and a permission, which local files lack in some browsers.
async function copy(text: string): Promise<boolean> {
    try {
        await navigator.clipboard.writeText(text);
        return true;
    } catch {
        return copyFromField(text);
    }
}

function copyFromField(text: string): boolean {
    const field = make("textarea", { class: "unseen", "aria-hidden": true, readonly: true });
    field.value = text;
    document.body.append(field);
    field.select();
    // eslint-disable-next-line @typescript-eslint/no-deprecated -- fallback
    const done = document.execCommand("copy");
    field.remove();
    return done;
}

function copyButton(title: string, what: string, text: () => string): HTMLButtonElement {
    const made = button(
        title,
        () => {
            void copy(text()).then((done) => {
                made.textContent = done ? "Copied" : "Copy failed";
                announce(done ? `Copied ${what}` : "The browser does not allow copying");
                made.focus();
                setTimeout(() => (made.textContent = title), COPIED_FOR);
            });
        },
        { class: "copy", "aria-label": `${title === "Copy" ? "Copy" : `${title}:`} ${what}` },
    );
    return made;
}

export function addLocationButtons(card: HTMLElement): void {
    for (const element of all(".where > code:first-child", card)) {
        const location = element.textContent;
        element.after(copyButton("Copy", `location ${location}`, () => location));
        let link: HTMLAnchorElement | undefined;
        onEditorChange(() => {
            link?.remove();
            const href = editorLink(location);
            if (href !== undefined) {
                link = make("a", { class: "open", href, "aria-label": `Open ${location}` }, "Open");
                element.after(link);
            }
        });
    }
    for (const signature of all(".signature > code", card)) {
        const text = signature.textContent;
        signature.after(copyButton("Copy", `signature ${text}`, () => text));
    }
}

// Buttons that copy the whole card.
export function sharing(report: Report, finding: Finding, texts: FindingTexts): HTMLElement {
    return make(
        "p",
        { class: "sharing" },
        copyButton("Copy as Markdown", "this finding", () => asMarkdown(finding, texts)),
        copyButton("Copy as issue", "this finding, for the maintainers of the code", () => asIssue(report, finding, texts)),
        ...(report.findings.length > 1 ? [make("a", { class: "back", href: "#overview" }, "Back to the list")] : []),
    );
}
