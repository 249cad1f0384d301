// SPDX-License-Identifier: Apache-2.0
// Defers work until an element is near the viewport or the browser is idle.

const AHEAD = "400px"; // above and below the viewport

// Milliseconds that must remain in an idle period, which lasts up to 50. Periods between the frames
// of a scrolling page are shorter and are not used.
const MIN_REMAINING = 30;

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

// Work is also done while the browser is idle, so that its search finds the content.
export function onVisibleOrIdle(element: Element, act: () => void): void {
    onFirstVisible(element, act);
    idle.push(element);
    if (idle.length === 1) {
        whenIdle(actOnSome);
    }
}

type Act = (deadline: Pick<IdleDeadline, "timeRemaining">) => void;

function actOnSome(deadline: Parameters<Act>[0]): void {
    while (idle.length > 0 && deadline.timeRemaining() > MIN_REMAINING) {
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

// Do all work before printing. Work may register more work.
window.addEventListener("beforeprint", () => {
    while (waiting.size > 0) {
        [...waiting.keys()].forEach(actOn);
    }
});
