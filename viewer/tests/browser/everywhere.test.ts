// SPDX-License-Identifier: Apache-2.0
// Checks of all reports: overflow, accessibility, print, scripts disabled, hostile data.
import { createRequire } from "node:module";
import { readFileSync, writeFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { openReport, pathOf, useBrowser } from "./browser";
import { FOLDER } from "./reports";

useBrowser();

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

interface Fault {
    id: string;
    impact: string;
    nodes: { html: string; failureSummary: string }[];
}

async function seriousFaults(page: Page): Promise<string[]> {
    await page.evaluate(axe);
    const faults = await page.evaluate(async () => {
        const tool = (window as unknown as { axe: { run: () => Promise<{ violations: Fault[] }> } }).axe;
        return (await tool.run()).violations;
    });
    return faults
        .filter(({ impact }) => impact === "serious" || impact === "critical")
        .map(({ id, nodes }) => `${id}: ${nodes[0]?.html ?? ""} ${nodes[0]?.failureSummary ?? ""}`);
}

// Returns the window widths at which the page overflows.
async function overflows(page: Page): Promise<number[]> {
    const found = [];
    for (const width of [360, 1280, 2560]) {
        await page.setViewportSize({ width, height: 900 });
        await page.evaluate(() => new Promise(requestAnimationFrame)); // charts are redrawn
        if (await page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth)) {
            found.push(width);
        }
    }
    return found;
}

test.each(["golden", "merged", "quiet", "real", "hostile", "only_live", "memory"])("%s fits into all windows", async (report) => {
    const page = await openReport(report, { viewport: { width: 360, height: 900 } });
    expect(await overflows(page)).toEqual([]);
    for (const fold of await page.locator("summary:visible").all()) {
        await fold.click();
    }
    expect(await overflows(page)).toEqual([]);
});

for (const report of ["golden", "merged", "quiet", "live#live", "memory#memory"]) {
    test.each(["light", "dark"] as const)(`axe finds no serious violation in ${report}, %s`, async (colorScheme) => {
        const page = await openReport(report, { colorScheme });
        await page.addStyleTag({ content: "" }).catch(() => undefined);
        expect(await seriousFaults(page)).toEqual([]);
    });
}

test("all controls are reachable by keyboard", async () => {
    const page = await openReport("merged");
    const reached = new Set<string>();
    for (let i = 0; i < 150; i += 1) {
        await page.keyboard.press("Tab");
        reached.add(
            await page.evaluate(() => {
                const at = document.activeElement;
                return `${at?.localName ?? ""}.${at?.className ?? ""}`;
            }),
        );
    }
    for (const stop of ["a.", "div.chart", "canvas.", "input.", "select.", "div.frame", "button.copy", "button.", "summary.", "textarea."]) {
        expect([...reached]).toContain(stop);
    }
});

test("is readable with scripts disabled", async () => {
    const page = await openReport("merged", { javaScriptEnabled: false });
    const text = await page.locator("main").innerText();
    for (const part of [
        "165 reference cycles kept 342 MiB",
        "    cut   closure:self of function",
        "examples/awaitable.py:44",
        "    fix   ",
        "Overhead: 12 ms in 123 collections",
    ]) {
        expect(text).toContain(part);
    }
    expect(await page.locator("button, select, input, .panel:visible").count()).toBe(0);
    // Long lines scroll inside the text.
    await page.setViewportSize({ width: 360, height: 900 });
    expect(await page.locator("html").evaluate((html) => html.scrollWidth)).toBeLessThanOrEqual(360);
});

test("shows the text report if the data cannot be read", async () => {
    const damaged = `${FOLDER}/damaged.html`;
    writeFileSync(damaged, readFileSync(pathOf("golden"), "utf8").replace('id="cyclewatch-texts">{', 'id="cyclewatch-texts">'));
    const page = await openReport("quiet");
    const messages: string[] = [];
    page.removeAllListeners("console");
    page.on("console", (message) => messages.push(message.text()));
    await page.goto(`file://${damaged}`);
    await page.locator("pre.text").waitFor();
    expect(await page.locator("pre.text").innerText()).toContain("    cut   closure:self of function");
    expect(messages.join()).toContain("cyclewatch: SyntaxError");
});

test.each(["merged", "live", "hostile"])("ids are unique in %s", async (report) => {
    const page = await openReport(report);
    const ids = await page.locator("[id]").evaluateAll((all) => all.map(({ id }) => id));
    expect(ids.length).toBeGreaterThan(20);
    expect(ids.filter((id, i) => ids.indexOf(id) !== i)).toEqual([]);
});

test("prints all content without controls", async () => {
    const page = await openReport("golden");
    await page.emulateMedia({ media: "print" });
    expect(await page.locator(".card:visible").count()).toBe(3);
    expect(await page.locator("#tools").isVisible()).toBe(false);
    expect(await page.locator(".copy:visible, .zoom:visible").count()).toBe(0);
    expect(await page.locator(".pattern .after pre").isVisible()).toBe(true);
    const pdf = await page.pdf({ format: "A4" });
    expect(pdf.length).toBeGreaterThan(10_000);
});

test("hostile data is never executed", async () => {
    const page = await openReport("hostile");
    for (const fold of await page.locator("summary:visible").all()) {
        await fold.click();
    }
    await page.getByLabel("Open locations in").selectOption("vscode");
    await page.getByLabel("Base folder of relative paths").fill("/x");
    for (const facet of await page.locator("#tools select").all()) {
        const values = await facet.locator("option").evaluateAll((all) => all.map((one) => (one as HTMLOptionElement).value));
        await facet.selectOption(values.at(-1) ?? "");
        await facet.selectOption(values[0] ?? "");
    }
    expect(await page.evaluate(() => "hurt" in window)).toBe(false);
    expect(await page.locator("main img, main script, main iframe, main object").count()).toBe(0);
    const links = await page.locator("a").evaluateAll((all) => all.map((a) => (a as HTMLAnchorElement).protocol));
    expect(new Set(links.filter((protocol) => !/^(file|https|vscode):$/.test(protocol)))).toEqual(new Set());
    expect(await page.locator(".card").count()).toBe(13);
});

test("invalid Unicode in names is escaped", async () => {
    const page = await openReport("real");
    expect(await page.evaluate(() => "hurt" in window)).toBe(false);
    expect(await page.locator("main").innerText()).toContain("</script><img src=x");
});
