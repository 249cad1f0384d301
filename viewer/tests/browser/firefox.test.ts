// SPDX-License-Identifier: Apache-2.0
// The main features in Firefox, in dark mode; the details are tested in Chromium. Each test uses a
// single page, because opening one is slow.
import { readFileSync, rmSync } from "node:fs";
import type { Locator } from "playwright-core";
import { expect, test } from "vitest";
import { DOWNLOADS, facet, openReport, shownCards, useBrowser } from "./browser";

useBrowser("firefox");

test("Firefox shows findings in dark mode", async () => {
    const page = await openReport("real");
    expect(await page.evaluate(() => navigator.userAgent)).toContain("Firefox/");
    expect(await page.locator("h1").textContent()).toMatch(/^10 reference cycles kept .* of cpu memory/);
    expect(await page.locator(".bars li").count()).toBe(2);
    expect((await shownCards(page))[0]).toContain("Node.me");
    const [text, background] = await page.evaluate(() => {
        const { color, backgroundColor } = getComputedStyle(document.body);
        return [color, backgroundColor].map((rgb) => Number(/\d+/.exec(rgb)?.[0]));
    });
    expect(text).toBeGreaterThan(150);
    expect(background).toBeLessThan(50);
});

test("Firefox searches, filters, sorts, expands and copies", async () => {
    const page = await openReport("golden");
    await facet(page, "Search").fill("shard io.py");
    expect(await shownCards(page)).toEqual([expect.stringContaining("ShardError")]);
    await page.getByRole("button", { name: "Show all" }).click();
    await facet(page, "Pattern").selectOption("closure-captures-self");
    expect(await shownCards(page)).toEqual([expect.stringContaining("Awaitable")]);
    await facet(page, "Pattern").selectOption("");
    await facet(page, "Sort by").selectOption("occurrences");
    expect((await shownCards(page))[0]).toContain("Node");
    const card = page.locator("#finding-1");
    await card.getByText("All references of the cycle").click();
    expect(await card.getByText("cell_contents").isVisible()).toBe(true);
    await card.locator("details.pattern summary").click();
    expect(await card.locator(".after pre").isVisible()).toBe(true);
    await card.locator("section.cut .copy").click();
    await card.getByText("Copied", { exact: true }).waitFor();
});

// x, y and scale of a zoomed picture.
async function view(card: Locator): Promise<number[]> {
    const transform = await card.locator("svg.diagram > g").first().getAttribute("transform");
    return (transform?.match(/-?[\d.]+/g) ?? []).map(Number);
}

test("Firefox zooms and pans a picture and shows the timeline", async () => {
    const page = await openReport("golden");
    const card = page.locator("#finding-1");
    const frame = card.locator(".frame");
    await frame.scrollIntoViewIfNeeded();
    await card.getByRole("button", { name: "Zoom in" }).click();
    const [before = 0, , scale] = await view(card);
    expect(scale).toBeCloseTo(1.4);
    const box = await frame.boundingBox();
    await page.mouse.move((box?.x ?? 0) + (box?.width ?? 0) / 2, (box?.y ?? 0) + (box?.height ?? 0) / 2);
    await page.mouse.down();
    await page.mouse.move((box?.x ?? 0) + (box?.width ?? 0) / 2 + 40, (box?.y ?? 0) + 100);
    await page.mouse.up();
    expect((await view(card))[0]).toBeCloseTo(before + 40, 0);
    await frame.focus();
    await page.keyboard.press("0");
    expect((await view(card))[2]).toBe(1);

    const drop = page.locator("#timeline .drop").nth(8);
    await drop.scrollIntoViewIfNeeded();
    const tooth = await drop.boundingBox();
    await page.mouse.move(tooth?.x ?? 0, (tooth?.y ?? 0) + 4);
    expect(await page.locator("#timeline .readout").textContent()).toMatch(/^Collection 19 /);
    await page.mouse.click(tooth?.x ?? 0, (tooth?.y ?? 0) + 4);
    expect(await shownCards(page)).toHaveLength(2);
});

test("Firefox paints the heat map, filters by rank and fits into a small window", async () => {
    const page = await openReport("merged");
    const strip = page.locator("#ranks canvas").first();
    await strip.scrollIntoViewIfNeeded();
    const painted = (): Promise<number> =>
        strip.evaluate(
            (canvas: HTMLCanvasElement) => canvas.getContext("2d")?.getImageData(2, 4, 1, 1).data[3] ?? 0,
        );
    await expect.poll(painted).toBeGreaterThan(0);
    await strip.focus();
    await page.keyboard.press("ArrowRight");
    expect(await page.locator("#ranks .readout").textContent()).toMatch(/^rank 1: 128 MiB in 64 cycles/);
    await page.keyboard.press("Enter");
    expect(await facet(page, "Rank").inputValue()).toBe("1");
    await page.setViewportSize({ width: 360, height: 800 });
    expect(
        await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth),
    ).toBeLessThanOrEqual(0);
});

test("Firefox opens the tab of a link, moves in the treemap and filters live tensors", async () => {
    const page = await openReport("live#live-2");
    expect(await page.locator("#live-2").isVisible()).toBe(true);
    expect(await page.locator("#finding-1").isVisible()).toBe(false);
    const cells = page.locator(".treemap a");
    await cells.first().focus();
    await page.keyboard.press("ArrowDown");
    expect(await page.evaluate(() => document.activeElement?.getAttribute("href"))).toBe("#live-2");
    await page.getByRole("search", { name: "Live memory" }).getByLabel("Category").selectOption("gradient");
    expect(await cells.count()).toBe(2);
    await page.getByRole("tab", { name: /^Live/ }).focus();
    await page.keyboard.press("ArrowLeft");
    expect(await page.locator("#finding-1").isVisible()).toBe(true);
});

test("Firefox scrolls to the finding of a link, which is drawn later", async () => {
    const page = await openReport("many#finding-118");
    const card = page.locator("#finding-118");
    expect(await card.evaluate((element) => element.matches(":target"))).toBe(true);
    await card.locator("svg.diagram").waitFor();
    await expect.poll(async () => (await card.boundingBox())?.y ?? NaN).toBeCloseTo(84, -2);
});

test("Firefox opens a report of a thousand ranks and saves a copy with the verdict", { timeout: 90_000 }, async () => {
    const page = await openReport("many");
    await page.locator("#finding-1 input[value=bug]").focus();
    await page.keyboard.press("Space");
    await page.locator("#finding-1").getByLabel("Your note").fill("ask <b>Ann</b>");
    rmSync(DOWNLOADS, { recursive: true, force: true });
    await page.getByRole("button", { name: "Save a copy" }).click();
    const copy = `${DOWNLOADS}/many.html`;
    const whole = (): boolean => readFileSync(copy, "utf8").endsWith("</html>\n");
    await expect.poll(whole, { timeout: 20_000 }).toBe(true);
    const again = await openReport(copy);
    expect(await again.locator("#finding-1").getByLabel("Your note").inputValue()).toBe("ask <b>Ann</b>");
    expect(await again.locator("#finding-1 input[value=bug]").isChecked()).toBe(true);
});

test("Firefox never executes hostile data", async () => {
    const page = await openReport("hostile");
    expect(await page.evaluate(() => "hurt" in window)).toBe(false);
    expect(await page.locator("main img, main script, main iframe").count()).toBe(0);
    expect(await page.locator(".card").count()).toBe(13);
});
