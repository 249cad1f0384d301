// SPDX-License-Identifier: Apache-2.0
// Pan and zoom inside a picture of a cycle. The drawing is finished when it gets here: only the
// view of it moves.
import { select } from "d3-selection";
import { zoom, zoomIdentity, type ZoomBehavior } from "d3-zoom";
import { all, button, make, makeSvg } from "../page/dom";
import { onFirstVisible } from "../page/lazy";

const STEP = 1.4; // of one press of a button or key
const PAN = 60; // pixels of the drawing
const MOST = 24;

type Zoomed = ReturnType<typeof select<SVGSVGElement, unknown>>;

// A wheel scrolls the page and a finger too: neither may get stuck in a picture on the way.
// With Ctrl (which is what a trackpad's pinch sends) or two fingers they mean the picture.
function meantForPicture(event: Event): boolean {
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
    // Title and description stay where they are: they name the picture as a whole.
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
        .filter(meantForPicture)
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
            { class: "zoom", role: "group", "aria-label": "Size of the picture" },
            button("+", press("+"), { "aria-label": "Larger", title: "Larger (+, or Ctrl and wheel)" }),
            button("−", press("-"), { "aria-label": "Smaller", title: "Smaller (-)" }),
            button("Fit", press("0"), { "aria-label": "Whole picture", title: "Whole picture (0)" }),
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
