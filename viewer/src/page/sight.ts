// SPDX-License-Identifier: Apache-2.0
// Work that can wait until a reader is about to see what it is for: a merged report has hundreds
// of pictures, and must open at once.

const AHEAD = "400px"; // below and above the window

const waiting = new Map<Element, () => void>();

const observer = new IntersectionObserver(
    (entries) => {
        for (const { target, isIntersecting } of entries) {
            const act = waiting.get(target);
            if (isIntersecting && act !== undefined) {
                waiting.delete(target);
                observer.unobserve(target);
                act();
            }
        }
    },
    { rootMargin: AHEAD },
);

export function onFirstSight(element: Element, act: () => void): void {
    waiting.set(element, act);
    observer.observe(element);
}

// Paper shows everything.
window.addEventListener("beforeprint", () => {
    for (const [element, act] of [...waiting]) {
        waiting.delete(element);
        observer.unobserve(element);
        act();
    }
});
