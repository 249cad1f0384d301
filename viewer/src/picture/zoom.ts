// SPDX-License-Identifier: Apache-2.0
// Pan and zoom for diagrams.
import { select } from "d3-selection";
import { zoom, zoomIdentity, type ZoomBehavior } from "d3-zoom";
import { all, button, make, makeSvg } from "../page/dom";
import { onFirstVisible } from "../page/lazy";

const STEP = 1.4; // per button or key press
const PAN = 60; // pixels per key press
const MOST = 24;

type Zoomed = ReturnType<typeof select<SVGSVGElement, unknown>>;

// A plain wheel or one finger scrolls the page. Zooming needs Ctrl (also sent by trackpad pinches) or
// two fingers.
function isZoomGesture(event: Event): boolean {
    if (event instanceof WheelEvent) {
        return event.ctrlKey || event.metaKey;
    }
    if (typeof TouchEvent !== "undefined" && event instanceof TouchEvent) {
        return event.touches.length > 1;
    }
    return !(event instanceof MouseEvent) || event.button === 0;
}

const KEYS: Record<string, (behaviour: ZoomBehavior<SVGSVGElement, unknown>, at: Zoomed) => void> = {
    "+": (behaviour, at) => behaviour.scaleBy(at, STEP),
    "=": (behaviour, at) => behaviour.scaleBy(at, STEP),
    "-": (behaviour, at) => behaviour.scaleBy(at, 1 / STEP),
    "0": (behaviour, at) => behaviour.transform(at, zoomIdentity),
    ArrowLeft: (behaviour, at) => behaviour.translateBy(at, PAN, 0),
    ArrowRight: (behaviour, at) => behaviour.translateBy(at, -PAN, 0),
    ArrowUp: (behaviour, at) => behaviour.translateBy(at, 0, PAN),
    ArrowDown: (behaviour, at) => behaviour.translateBy(at, 0, -PAN),
};

function makeZoomable(frame: HTMLElement, svg: SVGSVGElement): void {
    // <title> and <desc> must remain children of the <svg>.
    const moving = [...svg.children].filter((child) => !/^(title|desc)$/.test(child.localName));
    const view = makeSvg("g", {}, ...moving);
    svg.append(view);
    const box = svg.viewBox.baseVal;
    const extent: [[number, number], [number, number]] = [
        [box.x, box.y],
        [box.x + box.width, box.y + box.height],
    ];
    const selection = select<SVGSVGElement, unknown>(svg);
    const behaviour = zoom<SVGSVGElement, unknown>()
        .extent(extent)
        .translateExtent(extent)
        .scaleExtent([1, MOST])
        .filter(isZoomGesture)
        .on("zoom", ({ transform }: { transform: { k: number; toString: () => string } }) => {
            view.setAttribute("transform", transform.toString());
            frame.classList.toggle("zoomed", transform.k > 1.001);
        });
    selection.call(behaviour).on("dblclick.zoom", null);
    const press = (key: string) => () => KEYS[key]?.(behaviour, selection);
    frame.addEventListener("keydown", (event) => {
        if (event.target === frame && !event.ctrlKey && !event.metaKey && event.key in KEYS) {
            event.preventDefault();
            press(event.key)();
        }
    });
    frame.nextElementSibling?.append(
        make(
            "div",
            { class: "zoom", role: "group", "aria-label": "Zoom" },
            button("+", press("+"), { "aria-label": "Zoom in", title: "Zoom in (+, or Ctrl and wheel)" }),
            button("−", press("-"), { "aria-label": "Zoom out", title: "Zoom out (-)" }),
            button("Fit", press("0"), { "aria-label": "Whole diagram", title: "Whole diagram (0)" }),
        ),
    );
}

export function makePicturesZoomable(card: HTMLElement): void {
    for (const frame of all(".picture > .frame", card)) {
        const svg = frame.querySelector("svg");
        if (svg !== null) {
            onFirstVisible(frame, () => makeZoomable(frame, svg));
        }
    }
}
