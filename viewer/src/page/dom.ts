// SPDX-License-Identifier: Apache-2.0
// Creates elements. Text is always inserted as text nodes, never as markup.

type Attributes = Record<string, string | number | boolean>;
type Child = Node | string;

function fill(element: Element, attributes: Attributes, children: readonly Child[]): void {
    for (const [name, value] of Object.entries(attributes)) {
        if (value !== false) {
            element.setAttribute(name, value === true ? "" : String(value));
        }
    }
    element.append(...children);
}

export function make<K extends keyof HTMLElementTagNameMap>(
    tag: K,
    attributes: Attributes = {},
    ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
    const element = document.createElement(tag);
    fill(element, attributes, children);
    return element;
}

export function makeSvg<K extends keyof SVGElementTagNameMap>(
    tag: K,
    attributes: Attributes = {},
    ...children: readonly Child[]
): SVGElementTagNameMap[K] {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    fill(element, attributes, children);
    return element;
}

export function button(text: string, act: () => void, attributes: Attributes = {}): HTMLButtonElement {
    const made = make("button", { type: "button", ...attributes }, text);
    made.addEventListener("click", act);
    return made;
}

let fields = 0;

// A control with its label. The label does not enclose the control, because screen readers would read
// the options of a list as part of the label.
export function field(name: string, control: HTMLElement, style = ""): HTMLElement {
    fields += 1;
    control.id = `field-${fields}`;
    return make("div", { class: `field ${style}`.trim() }, make("label", { for: control.id }, name), control);
}

// A list of values and their texts.
export function select(options: Iterable<readonly [string, string]>, act: (value: string) => void): HTMLSelectElement {
    const made = make("select");
    for (const [value, text] of options) {
        made.append(make("option", { value }, text));
    }
    made.addEventListener("change", () => act(made.value));
    return made;
}

// Throws if the element is missing.
export function byId(id: string): HTMLElement {
    const element = document.getElementById(id);
    if (element === null) {
        throw new Error(`the page has no element #${id}`);
    }
    return element;
}

export function all<E extends HTMLElement | SVGElement = HTMLElement>(
    selector: string,
    within: ParentNode = document,
): E[] {
    return [...within.querySelectorAll<E>(selector)];
}

// Announces text to screen readers through a live region.
export function announce(text: string): void {
    let region = document.getElementById("announcer");
    if (region === null) {
        region = make("p", { id: "announcer", class: "unseen", role: "status" });
        document.body.append(region);
    }
    region.textContent = text;
}

// Hides and reorders the entries of a list. Entries have the attribute `data-KEY` with an index. `positions` has the indexes to show. Elements
// are moved only if the order changes, to keep the scroll position.
export function arrange(list: HTMLElement, key: string, positions: ReadonlyMap<number, number>): void {
    const entries = all(`:scope > [data-${key}]`, list);
    const indexOf = (entry: HTMLElement): number => Number(entry.dataset[key]);
    const positionOf = (entry: HTMLElement): number => positions.get(indexOf(entry)) ?? Infinity;
    const sorted = [...entries].sort(
        (a, b) => positionOf(a) - positionOf(b) || indexOf(a) - indexOf(b),
    );
    for (const entry of entries) {
        entry.hidden = !positions.has(indexOf(entry));
    }
    if (sorted.some((entry, i) => entry !== entries[i])) {
        list.append(...sorted);
    }
}
