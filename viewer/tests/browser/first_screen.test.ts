// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { openReport, shownCards, useBrowser } from "./browser";

useBrowser();

test("starts with the retained memory and what cutting frees", async () => {
    const page = await openReport("golden");
    expect(await page.locator("h1").textContent()).toMatch(
        /^165 reference cycles kept 342 MiB of cuda:0 memory alive for up to 30\.5 s/,
    );
    expect(await page.locator(".lead").textContent()).toContain(
        "Cutting the first two references below frees 306 MiB (89 %)",
    );
    const box = await page.locator("h1").boundingBox();
    expect(box?.y).toBeLessThan(200);
});

test("has a bar for each finding that leads to its card", async () => {
    const page = await openReport("golden");
    const bars = page.locator(".bars li");
    expect(await bars.count()).toBe(3);
    // The second one shares memory: both parts are drawn.
    expect(await bars.nth(1).locator("rect.shared").getAttribute("width")).not.toBe("0");
    await bars.nth(1).locator("a").click();
    expect(page.url()).toMatch(/#finding-2$/);
    expect(await page.locator("#finding-2").boundingBox()).toMatchObject({
        y: expect.closeTo(84, -1.5) as number,
    });
});

test("orders the cards by bytes and separates the ones that are not new", async () => {
    const page = await openReport("golden");
    const titles = await shownCards(page);
    expect(titles[0]).toContain("AwaitableTensorWithViewCallback");
    expect(titles[2]).toContain("ShardError");
    expect(await page.locator(".not-new .card .title").allTextContents()).toHaveLength(1);
    expect(await page.locator(".not-new .status-reason").textContent()).toContain("baseline.json");
});

test("reports that nothing was found", async () => {
    const page = await openReport("quiet");
    expect(await page.locator("h1").textContent()).toMatch(
        /^No unreachable cuda memory was found: 123 collections in 34\.5 s/,
    );
    expect(await page.locator(".card").count()).toBe(0);
    expect(await page.locator("#tools").isVisible()).toBe(false);
    expect(await page.locator("#timeline").isVisible()).toBe(false);
});

test("ends with the overhead and the notes", async () => {
    const page = await openReport("golden");
    const overhead = await page.locator(".overhead").textContent();
    expect(overhead).toMatch(/in 123 collections and in censuses over 34\.5 s \(0\.04 % of/);
    expect(await page.locator(".notes").textContent()).toContain("graph over the time budget");
});

test("tables list the collections and the generations", async () => {
    const page = await openReport("golden");
    const fold = page.locator("footer details");
    await fold.locator("summary").click();
    expect(await fold.locator("summary").textContent()).toBe("12 collections that freed device memory");
    expect(await fold.locator("tbody tr").count()).toBe(12);
    const generations = page.locator("#generations tbody tr");
    expect(await generations.nth(2).locator("th, td").allTextContents()).toEqual([
        "2", "3", "3", "114 MiB", "340 ms", "0.99 %", "1,200,000", "678",
    ]);
});

test("shows the findings of a real program", async () => {
    const page = await openReport("real");
    expect(await page.locator("h1").textContent()).toMatch(/^10 reference cycles kept .* of cpu memory/);
    expect((await shownCards(page))[0]).toContain("Node.me");
    expect(await page.locator(".card .where").first().textContent()).toContain("make_reports.py:");
});

test("shows when the program started, with the seconds in the tooltip", async () => {
    const page = await openReport("golden");
    const time = page.locator("#program time");
    expect(await time.textContent()).toMatch(/^\d+ [A-Z][a-z]{2} \d{4}, \d\d:\d\d UTC$/);
    expect(await time.getAttribute("title")).toMatch(/T\d\d:\d\d:\d\d.*Z$/);
});
