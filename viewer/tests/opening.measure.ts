// SPDX-License-Identifier: Apache-2.0
// Measures how long reports take to open and how smoothly they scroll, for docs/viewer.md. Opens the
// pages in turn, so that other load affects all of them equally, and prints medians. Environment:
// PAGES (paths separated by spaces) and ROUNDS.
import { statSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { chromium, type Browser } from "playwright-core";
import { expect, test } from "vitest";
import { CHROMIUM, pathOf } from "./browser/browser";

const PAGES = process.env.PAGES?.split(" ") ?? [pathOf("many")];
const ROUNDS = Number(process.env.ROUNDS ?? 9);
const FRAMES = 90;

interface Measured extends Window {
    readyAt?: number;
    longTasks: number[];
}

type Figures = Record<"text" | "ready" | "work" | "nodes" | "frame" | "longest" | "longTasks", number>;

function median(values: readonly number[]): number {
    return [...values].sort((a, b) => a - b)[values.length >> 1] ?? NaN;
}

// Runs in the page before its scripts.
function recordReadiness(): void {
    const measured = window as unknown as Measured;
    const options = { attributeFilter: ["data-ready"], subtree: true };
    new MutationObserver(() => (measured.readyAt ??= performance.now())).observe(document, options);
    measured.longTasks = [];
    new PerformanceObserver((list) => {
        measured.longTasks.push(...list.getEntries().map(({ duration }) => duration));
    }).observe({ type: "longtask" });
}

// Scrolls by an eighth of the window per frame. Returns the duration of each frame in milliseconds.
async function scroll(frames: number): Promise<{ took: number[]; longTasks: number }> {
    const { longTasks } = window as unknown as Measured;
    await new Promise(requestAnimationFrame);
    longTasks.length = 0;
    const took = [];
    for (let i = 0; i < frames; i += 1) {
        const before = performance.now();
        window.scrollBy(0, innerHeight / 8);
        await new Promise(requestAnimationFrame);
        took.push(performance.now() - before);
    }
    await new Promise((done) => setTimeout(done));
    return { took, longTasks: longTasks.length };
}

async function measure(browser: Browser, path: string): Promise<Figures> {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
    const page = await context.newPage();
    await page.addInitScript(recordReadiness);
    const tools = await context.newCDPSession(page);
    await tools.send("Performance.enable", { timeDomain: "threadTicks" });
    await page.goto(pathToFileURL(path).href, { waitUntil: "commit" });
    await page.locator("html[data-ready]").waitFor({ state: "attached" });
    const { metrics } = await tools.send("Performance.getMetrics");
    const metric = (name: string): number => metrics.find((one) => one.name === name)?.value ?? NaN;
    const { ready, text } = await page.evaluate(() => ({
        ready: (window as unknown as Measured).readyAt ?? NaN,
        text: performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? NaN,
    }));
    const { took, longTasks } = await page.evaluate(scroll, FRAMES);
    await context.close();
    const [work, nodes] = [1000 * metric("TaskDuration"), metric("Nodes")];
    return { text, ready, work, nodes, frame: median(took), longest: Math.max(...took), longTasks };
}

test("how long reports take to open", { timeout: 3_600_000 }, async () => {
    const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox", "--disable-gpu"] });
    const found = PAGES.map((): Figures[] => []);
    for (let round = 0; round < ROUNDS; round += 1) {
        for (const [i, path] of PAGES.entries()) {
            found[i]?.push(await measure(browser, path));
        }
    }
    await browser.close();
    for (const [i, path] of PAGES.entries()) {
        const figures = found[i] ?? [];
        const of = (name: keyof Figures): string => median(figures.map((one) => one[name])).toFixed(0);
        const ready = figures.map((one) => one.ready);
        console.log(
            `${path}: ${(statSync(path).size / 1e6).toFixed(2)} MB, medians of ${ROUNDS}: text after ` +
                `${of("text")} ms, ready after ${of("ready")} (${Math.min(...ready).toFixed(0)} to ` +
                `${Math.max(...ready).toFixed(0)}), ${of("work")} ms of it on the page's thread, ${of("nodes")} ` +
                `nodes; ${FRAMES} frames of scrolling: median ${of("frame")}, longest ${of("longest")} ms, ` +
                `${of("longTasks")} long tasks`,
        );
        expect(Math.min(...ready)).toBeGreaterThan(0);
    }
});
