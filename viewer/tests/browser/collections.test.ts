// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { openReport, useBrowser } from "./browser";

useBrowser();

test("the page of several ranks says what collections cost and draws them by rank and step", async () => {
    const page = await openReport("merged");
    const panel = page.locator("#collections");
    expect(await panel.locator("h2").textContent()).toBe("Collections by rank and step");
    expect(await panel.locator("header + p").textContent()).toMatch(
        /^Collections cost \d+ ms of each 17\.6 s step, because the ranks collect at different steps .* At the same steps, they would cost \d+ ms/,
    );
    const canvas = panel.locator("canvas");
    await canvas.scrollIntoViewIfNeeded();
    await expect.poll(() => canvas.getAttribute("height")).toBe(String(8 * 18));
    // Rank 1 collects at steps 5, 45 ...; a column is two steps.
    const alpha = await canvas.evaluate((element: HTMLCanvasElement) => {
        const data = element.getContext("2d")?.getImageData(0, 18 + 9, element.width, 1).data;
        return Array.from({ length: 120 }, (_, column) => data?.[4 * Math.floor(((column + 0.5) * element.width) / 120) + 3] ?? -1);
    });
    expect(alpha.flatMap((value, column) => (value > 0 ? [column] : []))).toEqual([2, 22, 42, 62, 82, 102]);
});

test("arrow keys and the pointer describe a cell", async () => {
    const page = await openReport("merged");
    const map = page.locator("#collections .heat-map");
    const readout = page.locator("#collections .readout");
    await map.focus();
    expect(await readout.textContent()).toBe("rank 0, steps 0 to 1: 500 ms in collections");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowRight");
    expect(await readout.textContent()).toBe("rank 1, steps 4 to 5: 562 ms in collections");
    expect(await map.getAttribute("aria-valuetext")).toBe(await readout.textContent());
    await page.keyboard.press("End");
    expect(await readout.textContent()).toBe("rank 1, steps 238 to 239: no collection");
    await map.hover({ position: { x: 1, y: 8 * 18 - 2 } });
    expect(await readout.textContent()).toBe("rank 7, steps 0 to 1: no collection");
});

test("a list selects the freed memory", async () => {
    const page = await openReport("merged");
    await page.locator("#collections").getByLabel("Show").selectOption({ label: "freed by collections" });
    await page.locator("#collections .heat-map").focus();
    await page.keyboard.press("ArrowDown");
    for (let i = 0; i < 22; i += 1) {
        await page.keyboard.press("ArrowRight");
    }
    expect(await page.locator("#collections .readout").textContent()).toBe(
        "rank 1, steps 44 to 45: 64.0 MiB freed by collections",
    );
});

test("a table has the same numbers by process", async () => {
    const page = await openReport("merged");
    await page.locator("#collections summary").click();
    const rows = page.locator("#collections tbody tr");
    expect(await rows.count()).toBe(8);
    expect(await rows.nth(0).locator("th, td").allTextContents()).toEqual(["rank 0", "6", "3.0 s", "500 ms", "0", "192 MiB"]);
});

test("the page of one process has no such panel", async () => {
    const page = await openReport("golden");
    expect(await page.locator("#collections").count()).toBe(0);
});
