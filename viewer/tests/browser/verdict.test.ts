// SPDX-License-Identifier: Apache-2.0
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { fileURLToPath } from "node:url";
import { FOLDER } from "./reports";
import { openReport, pathOf, useBrowser } from "./browser";

useBrowser();

const root = fileURLToPath(new URL("../../..", import.meta.url));

interface Loaded {
    opinions: [string, string][];
    rest: string; // a hash of everything else
}

// Loads a page with cyclewatch.
function load(path: string): Loaded {
    const program = `
import cyclewatch, hashlib, json, sys
report = json.loads(cyclewatch.Report.load(sys.argv[1]).to_json())
opinions = [[f.pop("verdict"), f.pop("note")] for f in report["findings"]]
rest = hashlib.sha256(json.dumps(report).encode()).hexdigest()
print(json.dumps({"opinions": opinions, "rest": rest}))`;
    const printed = execFileSync(`${root}.venv/bin/python`, ["-c", program, path], {
        env: { ...process.env, PYTHONPATH: root },
        encoding: "utf8",
    });
    return JSON.parse(printed) as Loaded;
}

const NOTE = 'ask </script><b>"Ann"</b> \u202e & \ud83d\ude00';

// by_process of the first finding, if the page is not packed.
function plainOccurrences(path: string): unknown {
    const json = /id="cyclewatch-report">(.*)/.exec(readFileSync(path, "utf8"))?.[1]?.split("</script>")[0];
    return json && (JSON.parse(json) as { findings: { by_process: unknown }[] }).findings[0]?.by_process;
}

// For the report of a thousand ranks on a loaded machine.
const LONG = { timeout: 90_000 };

test.each(["golden", "many"])("a copy of %s has the verdict and the note", LONG, async (name) => {
    const page = await openReport(name);
    const bar = page.getByRole("region", { name: "Unsaved verdicts" });
    expect(await bar.isVisible()).toBe(false);
    const card = page.locator("#finding-1");
    // Uses the keyboard, because lazily drawn parts may still move the card.
    await card.locator("input[value=bug]").focus();
    await page.keyboard.press("Space");
    await card.getByLabel("Your note").fill(NOTE);
    expect(await bar.textContent()).toContain("Unsaved changes to 1 finding");
    const [download] = await Promise.all([
        page.waitForEvent("download"),
        bar.getByRole("button", { name: "Save a copy" }).click(),
    ]);
    expect(download.suggestedFilename()).toBe(`${name}.html`);
    const copy = `${FOLDER}/copy-of-${name}.html`;
    await download.saveAs(copy);
    expect(await bar.isVisible()).toBe(false);
    const [before, after] = [load(pathOf(name)), load(copy)];
    expect(after.opinions[0]).toEqual(["bug", NOTE]);
    expect(after.opinions.slice(1)).toEqual(before.opinions.slice(1));
    expect(after.rest).toBe(before.rest);
    expect(plainOccurrences(copy)).toEqual(plainOccurrences(pathOf(name)));
    expect(Array.isArray(plainOccurrences(copy))).toBe(name === "golden");

    // The copy is a complete report.
    const again = await openReport(copy);
    expect(await again.locator("#finding-1").getByLabel("Your note").inputValue()).toBe(NOTE);
    expect(await again.locator("#finding-1 input[value=bug]").isChecked()).toBe(true);
    expect(await again.locator("#finding-1 .copy").count()).toBe(
        await page.locator("#finding-1 .copy").count(),
    );
});

test("a copy has the verdict on a light card", LONG, async () => {
    const page = await openReport("many");
    const card = page.locator("#finding-130");
    await card.scrollIntoViewIfNeeded();
    await card.getByLabel("Your note").fill(NOTE);
    const [download] = await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("button", { name: "Save a copy" }).click(),
    ]);
    const copy = `${FOLDER}/copy-of-light.html`;
    await download.saveAs(copy);
    expect(load(copy).opinions[129]).toEqual(["", NOTE]);
    const again = await openReport(copy);
    expect(await again.locator("#finding-131").count()).toBe(1);
    await again.locator("#finding-130").scrollIntoViewIfNeeded();
    expect(await again.locator("#finding-130").getByLabel("Your note").inputValue()).toBe(NOTE);
});

test("a copy is readable without scripts", async () => {
    const page = await openReport(`${FOLDER}/copy-of-golden.html`, { javaScriptEnabled: false });
    const original = await openReport("golden", { javaScriptEnabled: false });
    expect(await page.locator("main").innerText()).toBe(await original.locator("main").innerText());
});
