// SPDX-License-Identifier: Apache-2.0
// The tab "Live": tabs and links, treemap, table.
import type { Locator, Page } from "playwright-core";
import { expect, test } from "vitest";
import { openReport, pathOf, useBrowser } from "./browser";

useBrowser();

function tab(page: Page, name: string): Locator {
    return page.getByRole("tab", { name: new RegExp(`^${name}`) });
}

async function rows(page: Page): Promise<string[]> {
    return page.locator("#live-owners tbody tr:visible th p:first-child").allTextContents();
}

async function at(page: Page): Promise<string> {
    return page.evaluate(() => document.activeElement?.getAttribute("href") ?? document.activeElement?.id ?? "");
}

test("tabs are chosen by click and keyboard", async () => {
    const page = await openReport("live");
    expect(await page.locator("#finding-1").isVisible()).toBe(true);
    expect(await page.locator("#live").isVisible()).toBe(false);
    await tab(page, "Live").click();
    expect(page.url()).toMatch(/#live$/);
    expect(await page.locator("#finding-1, .bars, #timeline").filter({ visible: true }).count()).toBe(0);
    expect(await page.locator("#live-1").isVisible()).toBe(true);
    expect(await tab(page, "Live").getAttribute("aria-selected")).toBe("true");
    expect(await page.getByRole("tabpanel", { name: /^Live/ }).count()).toBe(1);
    await page.keyboard.press("ArrowLeft");
    expect(await at(page)).toBe("findings-tab");
    expect(await page.locator("#finding-1").isVisible()).toBe(true);
    await page.keyboard.press("End");
    expect(await page.locator("#live").isVisible()).toBe(true);
    // Only the selected tab is a tab stop.
    await page.keyboard.press("Shift+Tab");
    expect(await at(page)).not.toBe("findings-tab");
});

test("a link selects the tab that contains its target", async () => {
    const page = await openReport("live");
    await page.goto(`file://${pathOf("live")}#live-4`);
    await page.locator("#live-4").waitFor({ state: "visible" });
    expect(await page.locator("#live-4").evaluate((row) => row.matches(":target"))).toBe(true);
    expect(await page.locator("#live-4").boundingBox()).toMatchObject({ y: expect.closeTo(84, -1.7) as number });
    await page.evaluate(() => (location.hash = "#finding-2"));
    await page.locator("#finding-2").waitFor({ state: "visible" });
    expect(await tab(page, "Findings").getAttribute("aria-selected")).toBe("true");
});

test("the treemap shows categories and holders, and leads to the rows", async () => {
    const page = await openReport("live");
    await tab(page, "Live").click();
    const map = page.locator(".treemap");
    expect(await map.locator(".category .name").allTextContents()).toEqual([
        "optimizer state",
        "activation",
        "parameter",
        "saved for backward",
        "gradient",
        "other",
    ]);
    expect(await map.locator(".holder .name").allTextContents()).toContain("train() local model");
    const cells = map.getByRole("link");
    expect(await cells.count()).toBe(12);
    const areas = await cells.evaluateAll((all) =>
        all.map((cell) => ({ name: cell.getAttribute("aria-label"), area: cell.clientWidth * cell.clientHeight })),
    );
    expect(areas[0]?.name).toBe(
        "optimizer state, 192 MiB: 48 torch.Tensor on cuda:0, held by train() local optimizer -> state[<key>]['exp_avg']",
    );
    expect(areas[0]?.area).toBe(Math.max(...areas.map(({ area }) => area)));
    await cells.first().click();
    expect(page.url()).toMatch(/#live-1$/);
    expect(await at(page)).toBe("live-1");
});

test("the arrow keys move between the rectangles of the treemap", async () => {
    const page = await openReport("live");
    await tab(page, "Live").click();
    const cells = page.locator(".treemap a");
    expect(await page.locator(".treemap a[tabindex='0']").count()).toBe(1);
    await cells.first().focus();
    await page.keyboard.press("ArrowDown");
    // losses[x] is below the state of the optimizer.
    expect(await at(page)).toBe("#live-2");
    await page.keyboard.press("ArrowUp");
    expect(await at(page)).toBe("#live-1");
    await page.keyboard.press("ArrowUp");
    expect(await at(page)).toBe("#live-1");
    await page.keyboard.press("ArrowRight");
    expect(await at(page)).not.toBe("#live-1");
    await page.keyboard.press("End");
    await page.keyboard.press("Enter");
    expect(page.url()).toMatch(/#live-\d+$/);
});

test("searches, filters and sorts rows and treemap", async () => {
    const page = await openReport("live");
    await tab(page, "Live").click();
    const tools = page.getByRole("search", { name: "Live memory" });
    await tools.getByLabel("Search").fill("MODEL weight");
    expect(await rows(page)).toHaveLength(5);
    expect(await page.locator(".treemap a").count()).toBe(5);
    expect(await tools.locator(".outcome span").textContent()).toBe("5 of 12 groups, 304 MiB");
    expect(await page.locator("#announcer").textContent()).toContain("5 of 12 groups");
    await tools.getByLabel("Category").selectOption("gradient");
    expect(await rows(page)).toHaveLength(2);
    await tools.getByLabel("Search").fill("nowhere");
    expect(await page.getByText("No groups match.").isVisible()).toBe(true);
    expect(await page.locator(".treemap").isVisible()).toBe(false);
    await tools.getByRole("button", { name: "Show all" }).click();
    expect(await rows(page)).toHaveLength(12);
    expect(await tools.getByLabel("Category").inputValue()).toBe("");
    await tools.getByLabel("Device").selectOption("cuda:1");
    expect(await rows(page)).toHaveLength(2);
    await tools.getByLabel("Device").selectOption("");
    await tools.getByLabel("Sort by").selectOption("holder");
    const sorted = await rows(page);
    expect(sorted[0]).toMatch(/^C code/);
    expect(sorted.at(-1)).toMatch(/^train\(\) local optimizer/);
});

test("shows both paths, their locations and what grows", async () => {
    const page = await openReport("live");
    await tab(page, "Live").click();
    const row = page.locator("#live-owners tbody tr", { hasText: "embedding.weight" });
    expect(await row.locator("th p").allInnerTexts()).toEqual([
        expect.stringMatching(/^train\(\) local model -> embedding\.weight examples\/train\.py:41/),
        expect.stringMatching(/^train\(\) local optimizer -> param_groups/),
    ]);
    await row.getByRole("button", { name: "Copy location examples/train.py:41" }).click();
    const [fast, slow] = await page.locator("#growing .bar rect.own").evaluateAll((all) =>
        all.map((bar) => Number(bar.getAttribute("width"))),
    );
    expect([fast, slow]).toEqual([1000, 250]);
    const history = page.locator("#growing .history").first();
    expect(await history.locator("rect").count()).toBe(6);
    expect(await history.getAttribute("aria-label")).toMatch(/^in the last censuses: .+, .+, /);
});

test("there are no tabs without live tensors or without findings", async () => {
    const quiet = await openReport("quiet");
    expect(await quiet.getByRole("tablist").count()).toBe(0);
    const without = await openReport("real");
    expect(await without.getByRole("tablist").count()).toBe(0);
    const only = await openReport("only_live");
    expect(await only.getByRole("tablist").count()).toBe(0);
    expect(await only.locator(".treemap a").count()).toBe(12);
});

test("prints both tabs", async () => {
    const page = await openReport("live");
    await page.emulateMedia({ media: "print" });
    expect(await page.locator("#finding-1").isVisible()).toBe(true);
    expect(await page.locator("#live-1").isVisible()).toBe(true);
    expect(await page.getByRole("tablist").isVisible()).toBe(false);
    expect(await page.locator("#live .tools").isVisible()).toBe(false);
    const cell = await page.locator(".treemap a").first().boundingBox();
    expect(cell?.width).toBeGreaterThan(100);
});

test("is readable with scripts disabled", async () => {
    const page = await openReport("live", { javaScriptEnabled: false });
    const text = await page.locator("main").innerText();
    expect(text).toMatch(/held by\s+train\(\) local model -> embedding\.weight/);
    expect(text).toContain("+4.0 MiB per step");
    expect(await page.locator("button, [role=tab]").count()).toBe(0);
});

test("long tables of live tensors fit into a small window", async () => {
    const page = await openReport("live", { viewport: { width: 360, height: 800 } });
    await tab(page, "Live").click();
    await page.evaluate(() => new Promise(requestAnimationFrame));
    expect(await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)).toBeLessThanOrEqual(0);
    const [map, cell] = [await page.locator(".treemap").boundingBox(), await page.locator(".treemap a").last().boundingBox()];
    expect((cell?.x ?? 0) + (cell?.width ?? 0)).toBeLessThanOrEqual((map?.x ?? 0) + (map?.width ?? 0) + 1);
});
