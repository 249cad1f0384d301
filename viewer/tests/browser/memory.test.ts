// SPDX-License-Identifier: Apache-2.0
// The tab "Memory", and the chart of the memory over the steps.
import { expect, test } from "vitest";
import { readFileSync, writeFileSync } from "node:fs";
import { openReport, pathOf, useBrowser } from "./browser";

useBrowser();

test("the tab shows the verdict, the lines and their sum, and leads to the findings", async () => {
    const page = await openReport("memory");
    await page.getByRole("tab", { name: /^Memory/ }).click();
    const accounts = page.locator("#memory .account");
    expect(await accounts.count()).toBe(2);
    const account = accounts.first();
    expect(await account.locator("h2").textContent()).toBe(
        "500 MiB of 80.0 GiB in use on cuda:0, of which 96.0 MiB dead in 3 cycles",
    );
    expect(await account.locator(".quiet").textContent()).toBe(
        "cuda:0, when memory ran out, 30.0 s into the run, step 200",
    );
    const bytes = async (rows: string): Promise<number[]> =>
        (await account.locator(`${rows} .exact`).allTextContents()).map((text) => Number(text.replaceAll(",", "")));
    const lines = await bytes("tbody");
    expect(lines).toEqual([192 * 2 ** 20, 177 * 2 ** 20, 96 * 2 ** 20, 35 * 2 ** 20 + 1]);
    expect((await bytes("tfoot"))[0]).toBe(lines.reduce((sum, line) => sum + line, 0));
    const widths = await account.locator(".filled").evaluateAll((all) => all.map((bar) => bar.clientWidth));
    expect(widths).toEqual([...widths].sort((a, b) => b - a));
    expect(widths[3]).toBeGreaterThan(0);
    expect(await account.getByText("Autograd graphs were not examined. Held by trainer.state.").isVisible()).toBe(true);
    await account.getByRole("link").first().click();
    await page.locator("#finding-1").waitFor({ state: "visible" });
});

test("the chart over the steps has a layer for each use, and shows the split of a step", async () => {
    const page = await openReport("memory");
    const chart = page.getByRole("slider", { name: "Steps" });
    const names = ["dead in cycles", "parameters", "optimizer state", "gradients", "other allocations of torch"];
    const others = ["reserved by torch, but free", "peak of torch's allocations so far"];
    expect(await page.locator("#memory-steps .key").allTextContents()).toEqual([...names, ...others]);
    expect(await chart.locator(".layer").count()).toBe(6);
    // The peak rises in the first 19 of 239 steps, and stays below the 800 MiB that are reserved.
    const path = (await chart.locator(".peak").getAttribute("d")) ?? "";
    const corners = path.slice(1).split("L").map((corner) => ({ x: Number(corner.split(" ")[0]), y: Number(corner.split(" ")[1]) }));
    const [left, right] = [corners[0]?.x ?? 0, corners.at(-1)?.x ?? 0];
    const [below, above] = [corners[0]?.y ?? 0, corners.at(-1)?.y ?? 0];
    expect(corners.find(({ y }) => y === above)?.x).toBeCloseTo(left + ((right - left) * 19) / 239, 0);
    expect(above).toBeLessThan(below);
    expect(above).toBeGreaterThan(12); // the top
    expect(await chart.locator(".exact").count()).toBe(6); // four censuses and two accounts
    await chart.focus();
    await page.keyboard.press("Home");
    const readout = page.locator("#memory-steps .readout");
    expect(await readout.textContent()).toMatch(/^Step 0: .*177 MiB parameters, 192 MiB optimizer state, .*; 800 MiB reserved/);
    expect(await chart.getAttribute("aria-valuetext")).toBe(await readout.textContent());
    await page.keyboard.press("End");
    expect(await readout.textContent()).toMatch(/^Step 239: /);
    await chart.hover({ position: { x: 300, y: 100 } });
    const step = Number(/^Step (\d+)/.exec((await readout.textContent()) ?? "")?.[1]);
    expect(step).toBeGreaterThan(10);
    expect(step).toBeLessThan(200);
});

test("a page of view --follow reloads itself, and keeps the tab", async () => {
    const page = await openReport("memory");
    const path = pathOf("memory").replace("memory.html", "followed.html");
    const meta = '<meta name="cyclewatch-reload" content="0.5">';
    writeFileSync(path, readFileSync(pathOf("memory"), "utf8").replace("<title>", `${meta}<title>`));
    await page.goto(`file://${path}`);
    await page.getByRole("tab", { name: /^Memory/ }).click();
    await page.waitForEvent("load");
    await page.waitForEvent("load");
    await page.locator("#memory-1").waitFor({ state: "visible" });
    expect(page.url()).toMatch(/#memory$/);
});

test("a link to a tab shows the tabs, and a reload keeps the position", async () => {
    const page = await openReport("memory");
    const position = (): Promise<number> => page.evaluate(() => scrollY);
    await page.setViewportSize({ width: 1000, height: 300 });
    await page.goto(`file://${pathOf("memory")}#memory`);
    await page.locator("html[data-ready]").waitFor();
    const tabs = await page.locator(".tabs").boundingBox();
    expect(tabs?.y).toBeGreaterThanOrEqual(0);
    expect(tabs?.y).toBeLessThan(250);
    await page.evaluate(() => scrollTo(0, 77));
    await page.reload();
    await page.locator("html[data-ready]").waitFor();
    expect(await position()).toBe(77);
});
