// SPDX-License-Identifier: Apache-2.0
import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { fileURLToPath } from "node:url";
import { FOLDER } from "./reports";
import { openReport, useBrowser } from "./browser";

useBrowser();

const root = fileURLToPath(new URL("../../..", import.meta.url));

function opinions(path: string): unknown {
    const program =
        "import cyclewatch, json, sys; print(json.dumps([[f.verdict, f.note] " +
        "for f in cyclewatch.Report.load(sys.argv[1]).findings]))";
    return JSON.parse(
        execFileSync(`${root}.venv/bin/python`, ["-c", program, path], {
            env: { ...process.env, PYTHONPATH: root },
            encoding: "utf8",
        }),
    );
}

const NOTE = 'ask </script><b>"Ann"</b> \u202e & \ud83d\ude00';

// A report of a thousand ranks takes its time on a machine that has other work.
const PATIENCE = { timeout: 90_000 };

test.each(["golden", "many"])("verdict and note of %s are kept by saving a copy", PATIENCE, async (name) => {
    const page = await openReport(name);
    const bar = page.getByRole("region", { name: "Unsaved verdicts" });
    expect(await bar.isVisible()).toBe(false);
    const card = page.locator("#finding-1");
    // By keyboard: what is drawn on first sight may still move the card under a pointer.
    await card.locator("input[value=bug]").focus();
    await page.keyboard.press("Space");
    await card.getByLabel("Your note").fill(NOTE);
    expect(await bar.textContent()).toContain("1 finding is not in the file yet");
    const [download] = await Promise.all([
        page.waitForEvent("download"),
        bar.getByRole("button", { name: "Save a copy" }).click(),
    ]);
    expect(download.suggestedFilename()).toBe(`${name}.html`);
    const copy = `${FOLDER}/copy-of-${name}.html`;
    await download.saveAs(copy);
    expect(await bar.isVisible()).toBe(false);
    expect((opinions(copy) as unknown[])[0]).toEqual(["bug", NOTE]);

    // The copy is a report like the first: it opens, shows the verdict, and can be saved again.
    const again = await openReport(copy);
    expect(await again.locator("#finding-1").getByLabel("Your note").inputValue()).toBe(NOTE);
    expect(await again.locator("#finding-1 input[value=bug]").isChecked()).toBe(true);
    expect(await again.locator("#finding-1 .copy").count()).toBe(
        await page.locator("#finding-1 .copy").count(),
    );
});

test("a copy reads without scripts, verdict included", async () => {
    const page = await openReport(`${FOLDER}/copy-of-golden.html`, { javaScriptEnabled: false });
    const opinion = page.locator("#finding-1 dl.opinion");
    expect(await opinion.isVisible()).toBe(true);
    expect(await opinion.textContent()).toContain("bug");
});
