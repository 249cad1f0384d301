// SPDX-License-Identifier: Apache-2.0
// Turns parts of the page into tabs. Links to an element (#finding-2) select the tab that contains it.
import { byId, make } from "./dom";

export interface Tab {
    panel: string; // id of an element
    name: string;
    note: string; // a number beside the name, or ""
}

// The tabs are inserted before the first panel, which is selected. A single panel needs no tab.
export function addTabs(tabs: readonly Tab[]): void {
    if (tabs.length < 2) {
        return;
    }
    const panels = tabs.map(({ panel }) => byId(panel));
    const buttons = tabs.map(({ panel, name, note }) =>
        make(
            "button",
            { type: "button", role: "tab", id: `${panel}-tab`, "aria-controls": panel },
            name,
            ...(note === "" ? [] : [" ", make("span", { class: "tab-note" }, note)]),
        ),
    );
    const list = make("div", { class: "tabs", role: "tablist", "aria-label": "Parts of the report" }, ...buttons);
    const select = (at: number): void => {
        buttons.forEach((button, i) => {
            button.setAttribute("aria-selected", String(i === at));
            button.tabIndex = i === at ? 0 : -1;
        });
        panels.forEach((panel, i) => (panel.hidden = i !== at));
    };
    // Without an entry in the history, so that "back" leaves the page.
    const choose = (at: number): void => {
        select(at);
        history.replaceState(null, "", `#${tabs[at]?.panel ?? ""}`);
    };
    const reveal = (): void => {
        const target = document.getElementById(location.hash.slice(1));
        const at = panels.findIndex((panel) => panel.contains(target));
        if (target !== null && panels[at]?.hidden === true) {
            select(at);
            (target === panels[at] ? list : target).scrollIntoView();
        }
    };
    buttons.forEach((button, at) => button.addEventListener("click", () => choose(at)));
    list.addEventListener("keydown", (event) => {
        const at = buttons.findIndex((button) => button === document.activeElement);
        const last = buttons.length - 1;
        const to = { ArrowLeft: at > 0 ? at - 1 : last, ArrowRight: at < last ? at + 1 : 0, Home: 0, End: last }[event.key];
        if (to !== undefined && !event.ctrlKey && !event.metaKey && !event.altKey) {
            event.preventDefault();
            choose(to);
            buttons[to]?.focus();
        }
    });
    panels.forEach((panel, i) => {
        panel.setAttribute("role", "tabpanel");
        panel.setAttribute("aria-labelledby", `${tabs[i]?.panel ?? ""}-tab`);
    });
    panels[0]?.before(list);
    select(0);
    reveal();
    window.addEventListener("hashchange", reveal);
}
