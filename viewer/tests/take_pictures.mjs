// SPDX-License-Identifier: Apache-2.0
// Takes the pictures in docs/images from reports that the browser tests made. Look at them.
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const root = fileURLToPath(new URL("../..", import.meta.url));
const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu"],
});
// What to take, of which report; "" for the window.
const PICTURES = {
    "first-screen": ["golden", ""],
    timeline: ["golden", "#timeline"],
    card: ["golden", "#finding-1"],
    ranks: ["merged", "#ranks"],
};
for (const colorScheme of ["light", "dark"]) {
    for (const [name, [report, part]] of Object.entries(PICTURES)) {
        const page = await browser.newPage({ viewport: { width: 1280, height: 860 }, colorScheme });
        await page.goto(`file://${root}.build/viewer/reports/${report}.html`);
        await page.locator("html[data-ready]").waitFor({ state: "attached" });
        const path = `${root}docs/images/page-${name}-${colorScheme}.png`;
        if (part === "") {
            await page.screenshot({ path });
        } else {
            // The tools would lie over a card that is taller than the window.
            await page.evaluate(() => (document.getElementById("tools").style.position = "static"));
            await page.locator(part).scrollIntoViewIfNeeded();
            await page.waitForTimeout(300);
            await page.locator(part).screenshot({ path });
        }
        await page.close();
    }
}
await browser.close();
