// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { facet, openReport, shownCards, useBrowser } from "./browser";

useBrowser();

test("the timeline shows memory in use and every collection", async () => {
    const page = await openReport("golden");
    const timeline = page.locator("#timeline");
    expect(await timeline.locator("h2").textContent()).toBe("cuda:0 memory over the run");
    expect(await timeline.locator(".drop").count()).toBe(12);
    const corners = (await timeline.locator(".used").getAttribute("d"))?.match(/[ML]/g);
    expect(corners).toHaveLength(24); // before and after each collection
});

test("hovering over the timeline describes a collection, and a click shows its findings", async () => {
    const page = await openReport("golden");
    await page.locator("#timeline .drop").nth(8).scrollIntoViewIfNeeded();
    const box = await page.locator("#timeline .drop").nth(8).boundingBox();
    const [x, y] = [box?.x ?? 0, (box?.y ?? 0) + 4];
    await page.mouse.move(x, y);
    const readout = page.locator("#timeline .readout");
    expect(await readout.textContent()).toMatch(
        /^Collection 19 \(generation 0\) at 20\.5 s: freed 56\.0 MiB of 4 owners, cuda:0/,
    );
    await page.mouse.click(x, y);
    expect(await shownCards(page)).toEqual([
        expect.stringContaining("Awaitable"),
        expect.stringContaining("ShardError"),
    ]);
    expect(await page.locator(".outcome").textContent()).toContain("in collection 19");
    await page.mouse.click(x, y);
    expect(await shownCards(page)).toHaveLength(3);
});

test("the timeline shows how long memory was unreachable and where its axis starts", async () => {
    const page = await openReport("golden");
    const timeline = page.locator("#timeline");
    const waits = timeline.locator(".wait");
    expect(await waits.count()).toBe(12);
    const fill = (): Promise<string> => waits.nth(8).evaluate((box) => getComputedStyle(box).fill);
    expect(await fill()).toBe("none");
    await timeline.locator(".drop").nth(8).scrollIntoViewIfNeeded();
    const tooth = await timeline.locator(".drop").nth(8).boundingBox();
    await page.mouse.move(tooth?.x ?? 0, (tooth?.y ?? 0) + 4);
    expect(await fill()).not.toBe("none");
    // It ends at the collection and is 2.25 of 34.5 seconds wide.
    const wait = await waits.nth(8).boundingBox();
    const scale = await timeline.locator(".axes line").first().boundingBox();
    expect((wait?.width ?? 0) / (scale?.width ?? 1)).toBeCloseTo(2.25 / 34.5, 2);
    expect((wait?.x ?? 0) + (wait?.width ?? 0)).toBeCloseTo((tooth?.x ?? 0) + (tooth?.width ?? 0) / 2, -1);
    expect(await timeline.locator(".readout").textContent()).toContain("unreachable for up to 2.2 s before");
    expect(await timeline.locator(".floor").textContent()).toBe("The axis starts at 600 MiB, not at 0.");
});

test("a single collection has no chart above the findings", async () => {
    const page = await openReport("single");
    expect(await page.locator("#timeline").isVisible()).toBe(false);
});

test("the arrow keys move along the timeline", async () => {
    const page = await openReport("golden");
    const slider = page.getByRole("slider", { name: "Collections" });
    await slider.focus();
    await page.keyboard.press("End");
    expect(await slider.getAttribute("aria-valuenow")).toBe("12");
    expect(await slider.getAttribute("aria-valuetext")).toContain("Collection 25");
    await page.keyboard.press("ArrowLeft");
    expect(await slider.getAttribute("aria-valuetext")).toContain("Collection 23");
    await page.keyboard.press("Enter");
    expect(await shownCards(page)).toEqual([expect.stringContaining("Node.other")]);
});

test("a merged report offers the memory of each rank", async () => {
    const page = await openReport("merged");
    const select = page.getByLabel("Memory of");
    expect(await select.locator("option").count()).toBe(9); // and all of them
    await facet(page, "Rank").selectOption("5");
    expect(await select.locator("option:checked").textContent()).toBe("rank 5, cuda:0");
    expect(await page.locator("#timeline .drop").count()).toBe(5);
});

test("a table counts the processes of each finding and names the first", async () => {
    const page = await openReport("merged");
    const rows = page.locator("#ranks tbody tr");
    expect(await rows.count()).toBe(3);
    const cells = (row: number): Promise<string[]> => rows.nth(row).locator("td:not(.strip)").allTextContents();
    expect(await cells(0)).toEqual(["8 of 8", "rank 0", "100", "500 ms"]);
    expect(await cells(1)).toEqual(["6 of 8", "rank 0", "100", "3.0 s"]);
});

test("the heat map is darker for more memory and empty for none", async () => {
    const page = await openReport("merged");
    const strip = page.locator("#ranks canvas").nth(1); // seen by ranks 0, 1, 3, 4, 6, 7
    await strip.scrollIntoViewIfNeeded();
    const alpha = (): Promise<number[]> =>
        strip.evaluate((canvas: HTMLCanvasElement) => {
            // Only one read, because Chromium warns about more.
            const row = canvas.getContext("2d")?.getImageData(0, 4, canvas.width, 1).data;
            return Array.from({ length: 8 }, (_, rank) => {
                const x = Math.floor(((rank + 0.5) * canvas.width) / 8);
                return row?.[4 * x + 3] ?? -1;
            });
        });
    await expect.poll(() => strip.getAttribute("height")).not.toBeNull();
    const shades = await alpha();
    expect(shades[0]).toBeGreaterThan(0);
    expect([shades[2], shades[5]]).toEqual([0, 0]);
    expect(shades[1]).toBeGreaterThan(shades[7] ?? 255);
});

test("the heat map describes a cell and filters by its rank", async () => {
    const page = await openReport("merged");
    const strip = page.locator("#ranks canvas").first();
    await strip.focus();
    await page.keyboard.press("ArrowRight");
    const readout = page.locator("#ranks .readout");
    expect(await readout.textContent()).toMatch(/^rank 1: 128 MiB in 64 cycles, first seen at step 107/);
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowRight");
    expect(await readout.textContent()).toBe("rank 2: not seen");
    await page.keyboard.press("Enter");
    expect(await facet(page, "Rank").inputValue()).toBe("2");
});
