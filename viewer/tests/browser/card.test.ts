// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { openReport, useBrowser } from "./browser";

useBrowser();

test("shows the cut, its location, the reason and the fix", async () => {
    const page = await openReport("golden");
    const cut = page.locator("#finding-1 section.cut");
    expect(await cut.locator(".name").textContent()).toBe("closure:self");
    expect(await cut.locator(".where code").textContent()).toBe("examples/awaitable.py:44");
    expect(await cut.locator(".why").textContent()).toContain("stored on the object");
    expect(await cut.locator(".instead").textContent()).toContain("_view_dim into a local");
    expect(await page.locator("#finding-1 .other").count()).toBe(2);
});

test("highlights the line of code, all of which is in view", async () => {
    const page = await openReport("golden", { viewport: { width: 360, height: 900 } });
    const cut = page.locator("#finding-1 section.cut");
    const source = cut.locator(".source");
    expect(await source.locator("mark u").textContent()).toBe("lambda tensor: tensor.view(-1, self._view_dim)");
    const colour = (line: string): Promise<string> =>
        source.locator(line).first().evaluate((element) => getComputedStyle(element).backgroundColor);
    expect(await colour("mark")).not.toBe(await colour("span.line"));
    expect(await source.evaluate((box) => box.scrollWidth > box.clientWidth)).toBe(false);
    const [inner, outer] = [await source.boundingBox(), await cut.boundingBox()];
    expect((inner?.x ?? 0) + (inner?.width ?? 0)).toBeLessThan((outer?.x ?? 0) + (outer?.width ?? 0));
});

test("draws the cut in a distinct colour and the sizes of tensors as bars", async () => {
    const page = await openReport("golden");
    const ring = page.locator("#finding-1 svg.diagram");
    const stroke = (which: string): Promise<string> =>
        ring.locator(which).first().evaluate((line) => getComputedStyle(line).stroke);
    expect(await stroke(".arrow.cut .line")).not.toBe(await stroke(".arrow.cycle .line"));
    expect(await ring.locator(".owner .weight").count()).toBe(1);
    const weights = page.locator("#finding-3 svg.diagram .weight");
    const [large, small] = await weights.evaluateAll((bars) =>
        bars.map((bar) => Number(bar.getAttribute("width"))),
    );
    expect(large).toBeCloseTo(2 * (small ?? 0), 0);
});

test("copies a location", async () => {
    const page = await openReport("golden", { permissions: ["clipboard-read", "clipboard-write"] });
    const button = page.locator("#finding-1 section.cut .copy");
    await button.click();
    await page.getByText("Copied", { exact: true }).waitFor();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe("examples/awaitable.py:44");
});

test("links to the selected editor and stores the setting", async () => {
    const page = await openReport("golden");
    expect(await page.locator("a.open").count()).toBe(0);
    await page.getByLabel("Open locations in").selectOption("vscode");
    expect(await page.locator("a.open").count()).toBe(0); // the paths are relative
    await page.getByLabel("Base folder of relative paths").fill("/home/me/my project/");
    const link = page.locator("#finding-1 section.cut a.open");
    const href = "vscode://file/home/me/my%20project/examples/awaitable.py:44";
    expect(await link.getAttribute("href")).toBe(href);
    await page.reload();
    await page.locator("html[data-ready]").waitFor({ state: "attached" });
    expect(await link.getAttribute("href")).toBe(href);
    await page.getByLabel("Open locations in").selectOption("");
    expect(await page.locator("a.open").count()).toBe(0);
});

test("copies a card as Markdown and as an issue", async () => {
    const page = await openReport("golden", { permissions: ["clipboard-read", "clipboard-write"] });
    const read = (): Promise<string> => page.evaluate(() => navigator.clipboard.readText());
    const card = page.locator("#finding-1");
    await card.getByText("Copy as Markdown").click();
    // The button says "Copied" for a moment only, which a loaded machine can miss; the announcement stays.
    await page.getByText("Copied this finding", { exact: true }).waitFor({ state: "attached" });
    expect(await read()).toContain("**Cut** `closure:self` of");
    await card.getByText("Copy as issue").click();
    await expect.poll(read).toMatch(/^# Reference cycle through `/);
});

test("shows the first of many changes in full, and the others by file", async () => {
    const page = await openReport("scattered");
    const cut = page.locator("#finding-1 section.cut");
    expect(await cut.locator(".choices > .choice .where code").allTextContents()).toEqual(["a.py:1"]);
    expect(await cut.locator(".locations > li").count()).toBe(4);
    expect(await cut.locator(".locations summary").allTextContents()).toEqual([
        ".owner of Part1 at b.py:2",
        ".owner of Part2 at line 3",
        ".owner of Part3 at line 30",
        ".owner of Part4 at d.py:4",
        ".owner of Part5 at e.py:5",
    ]);
    await cut.getByText("at line 30").click();
    await cut.getByText("lib.c.Part3").waitFor();
});

test("the first location has the choice of an editor, and a card leads back to the list", async () => {
    const page = await openReport("golden");
    expect(await page.locator("#finding-1 section.cut").getByLabel("Open locations in").count()).toBe(1);
    await page.locator("#finding-3").getByText("Back to the list").click();
    const top = (): Promise<number> => page.locator("#overview").evaluate((list) => list.getBoundingClientRect().top);
    await expect.poll(top).toBeGreaterThanOrEqual(0);
});

test("shows names between backticks as code, and a lone backtick as text", async () => {
    const page = await openReport("backticks");
    const fix = page.locator("#finding-1 .instead");
    expect(await fix.textContent()).toMatch(/^Fix: Call model\.close\(\), or a ` b/);
    expect(await fix.locator("code").allTextContents()).toEqual(["model.close()"]);
});

test("tables list the owners and the references of the cycle", async () => {
    const page = await openReport("golden");
    const [owners, cycle] = [page.locator("#finding-1 .scroll").first(), page.locator("#finding-1 > details:not([class])")];
    expect(await owners.locator("tbody td").allTextContents()).toEqual([
        "64", "4.0 MiB", "torch.Tensor", "[1024, 1024]", "float32", "cuda:0",
        "AwaitableTensorWithViewCallback._inner._result", expect.stringContaining("examples/awaitable.py:26"),
    ]);
    expect(await cycle.locator("tbody tr").count()).toBe(2);
    expect(await cycle.locator("tbody tr").nth(1).locator("td").nth(2).textContent()).toBe("closure:self");
});

test("opens the call stack of an allocation", async () => {
    const page = await openReport("golden");
    const stack = page.locator("#finding-1 details.stack");
    await stack.locator("summary").click();
    expect(await stack.locator("pre").innerText()).toBe("examples/awaitable.py:26 in __init__\nexamples/awaitable.py:51 in main\nexamples/awaitable.py:60\n");
});

test("collapses raw references", async () => {
    const page = await openReport("golden");
    const card = page.locator("#finding-1");
    // The rest of the card moves when the diagram comes into view and gets its buttons.
    await card.locator(".frame").scrollIntoViewIfNeeded();
    await card.getByRole("button", { name: "Zoom in" }).waitFor();
    const raw = card.getByText("cell_contents");
    expect(await raw.isVisible()).toBe(false);
    // A click could miss a summary that still moves.
    await card.getByText("All references of the cycle").press("Enter");
    await raw.waitFor();
});

test("explains built-in patterns", async () => {
    const page = await openReport("golden");
    const pattern = page.locator("#finding-1 details.pattern");
    await pattern.locator("summary").click();
    await pattern.locator(".before pre").waitFor();
    expect(await pattern.locator(".explanation").textContent()).toContain("captures the object as");
    expect(await pattern.locator(".before pre").innerText()).toContain(
        "class Awaitable:\n    def __init__(self, view_dim):\n",
    );
    expect(await pattern.locator(".after pre").isVisible()).toBe(true);
    expect(await pattern.locator(".links a").first().getAttribute("href")).toMatch(/^https:/);
    // The other findings have no built-in pattern.
    expect(await page.locator("details.pattern").count()).toBe(1);
});

test("shows when the finding was seen", async () => {
    const page = await openReport("golden");
    const when = page.locator("#finding-2 .when");
    expect(await when.textContent()).toContain("First seen 3.0 s into the run, in collection 5");
    await when.scrollIntoViewIfNeeded();
    await when.locator(".history").waitFor();
    expect(await when.locator(".history rect").count()).toBe(4); // seen in four collections
});

test("zooms by button, key and wheel", async () => {
    const page = await openReport("golden");
    const card = page.locator("#finding-1");
    const frame = card.locator(".frame");
    await frame.scrollIntoViewIfNeeded();
    const view = card.locator("svg.diagram > g").first();
    const scale = async (): Promise<number> =>
        Number(/scale\(([\d.]+)/.exec((await view.getAttribute("transform")) ?? "")?.[1] ?? 1);
    await card.getByRole("button", { name: "Zoom in" }).click();
    expect(await scale()).toBeCloseTo(1.4);
    await frame.focus();
    await page.keyboard.press("+");
    expect(await scale()).toBeCloseTo(1.96);
    await page.keyboard.press("0");
    expect(await scale()).toBe(1);
    await frame.hover();
    const before = await page.evaluate(() => scrollY);
    await page.keyboard.down("Control");
    await page.mouse.wheel(0, -400);
    await page.keyboard.up("Control");
    await expect.poll(scale).toBeGreaterThan(1);
    expect(await page.evaluate(() => scrollY)).toBe(before);
});
