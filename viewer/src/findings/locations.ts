// SPDX-License-Identifier: Apache-2.0
// Adds to every location a button that copies it and, if an editor is selected, a link that opens it.
import { all, announce, button, make } from "../page/dom";
import { editorLink, onEditorChange } from "./editors";

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

function copyButton(what: string, text: string): HTMLButtonElement {
    const made = button(
        "Copy",
        () => {
            void copy(text).then((done) => {
                made.textContent = done ? "Copied" : "Copy failed";
                announce(done ? `Copied ${what}` : "The browser does not allow copying");
                made.focus();
                setTimeout(() => (made.textContent = "Copy"), COPIED_FOR);
            });
        },
        { class: "copy", "aria-label": `Copy ${what} ${text}` },
    );
    return made;
}

export function addLocationButtons(card: HTMLElement): void {
    for (const element of all(".where > code", card)) {
        const location = element.textContent;
        element.after(copyButton("location", location));
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
        signature.after(copyButton("signature", signature.textContent));
    }
}
