// SPDX-License-Identifier: Apache-2.0
import { statSync } from "node:fs";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { openReport, pathOf, shownCards, useBrowser } from "./browser";

useBrowser();

const MOST_BYTES = 2_000_000;
// Typically two seconds; the limit allows for a loaded machine.
const MOST_SECONDS = 10;
const MOST_WORK = 2; // seconds of the page's main thread; typically 0.7

// A thousand ranks by two hundred findings; a thousand findings on a hundred ranks.
const LARGE = ["many", "thousand"];

test.each(LARGE)("the page of %s is small and opens quickly", async (name) => {
    const size = statSync(pathOf(name)).size;
    expect(size).toBeLessThan(MOST_BYTES);
    const start = performance.now();
    const page = await openReport(name);
    const seconds = (performance.now() - start) / 1000;
    console.log(`${name}: ${(size / 1e6).toFixed(2)} MB, open in ${seconds.toFixed(2)} s`);
    expect(seconds).toBeLessThan(MOST_SECONDS);
    expect(await page.locator("h1").isVisible()).toBe(true);
});

// The time of the main thread hardly depends on the load of the machine.
test.each(LARGE)("the page of %s needs little main thread time", async (name) => {
    const page = await openReport("quiet");
    const tools = await page.context().newCDPSession(page);
    await tools.send("Performance.enable", { timeDomain: "threadTicks" });
    await page.goto(`file://${pathOf(name)}`);
    await page.locator("html[data-ready]").waitFor({ state: "attached" });
    const { metrics } = await tools.send("Performance.getMetrics");
    const seconds = metrics.find((metric) => metric.name === "TaskDuration")?.value ?? 0;
    const painted = await page.evaluate(
        () => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? Infinity,
    );
    console.log(
        `${name}: ${seconds.toFixed(2)} s of the main thread, text after ${(painted / 1000).toFixed(2)} s`,
    );
    expect(seconds).toBeGreaterThan(0.1);
    expect(seconds).toBeLessThan(MOST_WORK);
    expect(painted).toBeLessThan(4000); // milliseconds
});

test("every card of a thousand findings has its picture", async () => {
    const page = await openReport("thousand#finding-1000");
    await page.locator("#finding-1000 svg.diagram").waitFor();
    expect(await page.locator(".card").count()).toBe(1000);
});

// Only the headings of the cards after the first twenty are drawn: see src/findings/cards.ts.
const LIGHT = ".card:not(:has(.columns))";

// The report of a thousand ranks in a browser that is never idle.
async function openBusy(): Promise<Page> {
    const page = await openReport("quiet");
    await page.addInitScript(() => (window.requestIdleCallback = () => 0));
    await page.goto(`file://${pathOf("many")}`);
    await page.locator("html[data-ready]").waitFor({ state: "attached" });
    return page;
}

test("a light card is completed near the viewport", async () => {
    const page = await openBusy();
    const card = page.locator("#finding-118");
    expect(await page.locator(LIGHT).count()).toBe(180);
    expect(await card.locator(".title").textContent()).toContain("Layer117.");
    expect(await card.locator(".headline").textContent()).toMatch(/keeps? .* alive: cut /);
    await page.locator(".bars a[href='#finding-118']").evaluate((link: HTMLAnchorElement) => link.click());
    await card.locator("svg.diagram").waitFor();
    await card.getByRole("button", { name: "Zoom in" }).waitFor();
    expect(await card.locator("section.cut .name").isVisible()).toBe(true);
    expect(await card.locator("section.cut .copy").count()).toBe(1);
    expect(await card.locator("fieldset.verdict").count()).toBe(1);
    expect(await page.locator("#finding-190 .columns").count()).toBe(0);
});

test("an idle browser completes all cards", async () => {
    const page = await openReport("many");
    await expect.poll(() => page.locator(LIGHT).count(), { timeout: 100_000 }).toBe(0);
    expect(await page.locator(".card section.cut").count()).toBe(200);
    expect(await page.locator(".card svg.diagram").count()).toBe(200);
}, 120_000);

test("printing completes all cards", async () => {
    const page = await openBusy();
    await page.evaluate(() => window.dispatchEvent(new Event("beforeprint")));
    expect(await page.locator(LIGHT).count()).toBe(0);
    expect(await page.locator(".card .zoom").count()).toBe(200);
});

test("without scripts the largest findings are readable", async () => {
    const page = await openReport("many", { javaScriptEnabled: false });
    const text = await page.locator("pre.text").innerText();
    expect(text.match(/^ {4}cut {3}/gm)).toHaveLength(100);
    expect(text).toContain("\nand 100 smaller findings\n");
});

test("searches a thousand ranks by two hundred findings", async () => {
    const page = await openReport("many");
    expect(await page.locator(".card").count()).toBe(200);
    expect(await page.locator("#ranks canvas").count()).toBe(200);
    await page.getByLabel("Search").fill("layer199");
    expect(await shownCards(page)).toEqual([expect.stringContaining("Layer199.")]);
});

test("scrolling is smooth", async () => {
    const page = await openReport("many");
    const longest = await page.evaluate(async () => {
        let worst = 0;
        let before = performance.now();
        for (let i = 0; i < 60; i += 1) {
            window.scrollBy(0, 400);
            await new Promise(requestAnimationFrame);
            const now = performance.now();
            worst = Math.max(worst, now - before);
            before = now;
        }
        return worst;
    });
    console.log(`many: the longest of 60 frames took ${longest.toFixed(0)} ms`);
    expect(longest).toBeLessThan(1500);
});
