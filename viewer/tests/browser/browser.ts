// SPDX-License-Identifier: Apache-2.0
// A real browser, and a page that notes everything a report must never do.
import {
    chromium,
    firefox,
    type Browser,
    type BrowserContextOptions,
    type Locator,
    type Page,
} from "playwright-core";
import { afterEach, beforeAll, beforeEach, expect } from "vitest";
import { FOLDER } from "./reports";

export const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
const FIREFOX = process.env.FIREFOX ?? "/usr/bin/firefox-esr";

// Of Firefox; Playwright keeps Chromium's itself.
export const DOWNLOADS = `${FOLDER}/downloads`;

const LAUNCH = {
    chromium: () =>
        chromium.launch({
            executablePath: CHROMIUM,
            args: [
                "--no-sandbox",
                "--disable-gpu",
                "--disable-quic",
                "--no-first-run",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
            ],
        }),
    // The channel stands for Firefox as its makers ship it, driven over WebDriver BiDi; without it
    // this would have to be a Firefox that was patched for the driver. What the protocol cannot
    // ask for yet is a preference: it is dark, and downloads go to a folder.
    firefox: () =>
        firefox.launch({
            channel: "moz-firefox",
            executablePath: FIREFOX,
            firefoxUserPrefs: {
                "layout.css.prefers-color-scheme.content-override": 0,
                "browser.download.folderList": 2,
                "browser.download.dir": DOWNLOADS,
            },
        }),
};

let browser: Browser;
let faults: string[] = [];
const open: Page[] = [];

// Tests in Chromium need it. Those in Firefox are skipped, with the reason, where the driver and
// the installed Firefox do not speak the same version of the protocol: that says nothing about our
// page. Any other failure to launch fails them.
export function useBrowser(which: keyof typeof LAUNCH = "chromium"): void {
    let unspoken = "";
    beforeAll(async () => {
        try {
            browser = await LAUNCH[which]();
            return () => browser.close();
        } catch (error) {
            const [reason = ""] = String(error).split("\n");
            if (which === "chromium" || !/Protocol error .*: unknown (command|method)/.test(reason)) {
                throw error;
            }
            unspoken = `the driver does not speak the protocol of this Firefox: ${reason}`;
            console.warn(`skipped: ${unspoken}`);
            return undefined;
        }
    });
    beforeEach((context) => context.skip(unspoken !== "", unspoken));
    // What went wrong in any page fails the test that opened it, whatever that was about.
    afterEach(async () => {
        for (const page of open.splice(0)) {
            faults.push(...(await violations(page)));
            await page.context().close({ reason: "the test is over" });
        }
        const found = faults;
        faults = [];
        expect(found).toEqual([]);
    });
}

async function violations(page: Page): Promise<string[]> {
    return page.evaluate(
        () => (window as unknown as { violations?: string[] }).violations ?? [],
    );
}

function listen(page: Page): void {
    page.on("console", (message) => {
        // Firefox says "warn" for what Chromium calls a warning.
        if (/^(error|warn|warning)$/.test(message.type())) {
            faults.push(`console: ${message.text()}`);
        }
    });
    page.on("pageerror", (error) => faults.push(`error: ${error.message}`));
    page.on("dialog", (dialog) => {
        faults.push(`dialog: ${dialog.message()}`);
        void dialog.accept();
    });
    page.on("request", (request) => {
        if (!/^(file:|blob:)/.test(request.url())) {
            faults.push(`request: ${request.url()}`);
        }
    });
}

export function pathOf(report: string): string {
    return report.includes("/") ? report : `${FOLDER}/${report}.html`;
}

// The named report, its script done.
export async function openReport(report: string, options: BrowserContextOptions = {}): Promise<Page> {
    const context = await browser.newContext({
        viewport: { width: 1280, height: 900 },
        reducedMotion: "reduce",
        ...options,
    });
    const page = await context.newPage();
    open.push(page);
    listen(page);
    await page.addInitScript(() => {
        const kept: string[] = [];
        (window as unknown as { violations: string[] }).violations = kept;
        document.addEventListener("securitypolicyviolation", (event) => {
            kept.push(`policy: ${event.violatedDirective} ${event.blockedURI}`);
        });
    });
    await page.goto(`file://${pathOf(report)}`);
    if (options.javaScriptEnabled !== false) {
        await page.locator("html[data-ready]").waitFor({ state: "attached" });
    }
    return page;
}

// A control of the tools above the cards.
export function facet(page: Page, name: string): Locator {
    return page.locator("#tools").getByLabel(name, { exact: true });
}

// Titles of the cards that are shown, in order.
export async function shownCards(page: Page): Promise<string[]> {
    return page.locator(".card:visible .title").allTextContents();
}
