// SPDX-License-Identifier: Apache-2.0
// Takes the screenshots in docs/images of the reports of the browser tests. With a file (the report
// of examples/awaitable.py), takes only the screenshot in README.
import { fileURLToPath, pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const root = fileURLToPath(new URL("../..", import.meta.url));
const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu"],
});
// Report and element; "" for the window.
const PICTURES = {
    "first-screen": ["golden", ""],
    timeline: ["golden", "#timeline"],
    card: ["golden", "#finding-1"],
    ranks: ["merged", "#ranks"],
    live: ["live", "#live"],
};
const example = process.argv[2];
if (example !== undefined) {
    const page = await browser.newPage({ viewport: { width: 1280, height: 1150 } });
    await page.goto(pathToFileURL(example).href);
    await page.locator("html[data-ready]").waitFor({ state: "attached" });
    await page.screenshot({ path: `${root}docs/images/report.png` });
    await browser.close();
    process.exit();
}
for (const colorScheme of ["light", "dark"]) {
    for (const [name, [report, part]] of Object.entries(PICTURES)) {
        if (colorScheme === "dark" && name !== "first-screen") {
            continue;
        }
        const page = await browser.newPage({ viewport: { width: 1280, height: 860 }, colorScheme });
        await page.goto(`file://${root}.build/viewer/reports/${report}.html${part}`);
        await page.locator("html[data-ready]").waitFor({ state: "attached" });
        const path = `${root}docs/images/page-${name}-${colorScheme}.png`;
        if (part === "") {
            await page.screenshot({ path });
        } else {
            // Sticky tools would cover the card.
            await page.evaluate(() => (document.getElementById("tools").style.position = "static"));
            await page.locator(part).scrollIntoViewIfNeeded();
            await page.waitForTimeout(300);
            await page.locator(part).screenshot({ path });
        }
        await page.close();
    }
}
await browser.close();
