// SPDX-License-Identifier: Apache-2.0
// Work that can wait until a reader is about to see what it is for: a merged report has hundreds
// of pictures, and must open at once.

const AHEAD = "400px"; // below and above the window

// Milliseconds of the fifty that an idle browser offers. Between the frames of a page that scrolls or
// moves there are fewer, so then nothing is done.
const KEPT_FREE = 30;

const waiting = new Map<Element, () => void>();
const idle: Element[] = [];

const observer = new IntersectionObserver(
    (entries) => {
        for (const { target, isIntersecting } of entries) {
            if (isIntersecting) {
                actOn(target);
            }
        }
    },
    { rootMargin: AHEAD },
);

function actOn(element: Element): void {
    const act = waiting.get(element);
    waiting.delete(element);
    observer.unobserve(element);
    act?.();
}

export function onFirstVisible(element: Element, act: () => void): void {
    waiting.set(element, act);
    observer.observe(element);
}

// What nobody has come to see is done when the browser has nothing better to do: the browser's own
// search is to find it.
export function onVisibleOrIdle(element: Element, act: () => void): void {
    onFirstVisible(element, act);
    idle.push(element);
    if (idle.length === 1) {
        whenIdle(actOnSome);
    }
}

type Act = (deadline: Pick<IdleDeadline, "timeRemaining">) => void;

function actOnSome(deadline: Parameters<Act>[0]): void {
    while (idle.length > 0 && deadline.timeRemaining() > KEPT_FREE) {
        const element = idle.shift();
        if (element !== undefined) {
            actOn(element);
        }
    }
    if (idle.length > 0) {
        whenIdle(actOnSome);
    }
}

function whenIdle(act: Act): void {
    if ("requestIdleCallback" in window) {
        requestIdleCallback(act);
    } else {
        setTimeout(() => {
            const end = performance.now() + 50;
            act({ timeRemaining: () => end - performance.now() });
        }, 50); // Safari
    }
}

// Paper shows everything; what is done for it may leave more to do.
window.addEventListener("beforeprint", () => {
    while (waiting.size > 0) {
        [...waiting.keys()].forEach(actOn);
    }
});
