// SPDX-License-Identifier: Apache-2.0
// Opens reports in a real browser. Console messages, requests and policy violations fail the test.
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

// For Firefox only.
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
    // This channel is an unpatched Firefox, driven over WebDriver BiDi. Dark mode and the download
    // folder are preferences because the protocol does not support them.
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

// Tests in Firefox are skipped if the driver does not support the protocol version of the installed
// Firefox. Every other failure to launch a browser fails the tests.
export function useBrowser(which: keyof typeof LAUNCH = "chromium"): void {
    let unsupported = "";
    beforeAll(async () => {
        try {
            browser = await LAUNCH[which]();
            return () => browser.close();
        } catch (error) {
            const [reason = ""] = String(error).split("\n");
            if (which === "chromium" || !/Protocol error .*: unknown (command|method)/.test(reason)) {
                throw error;
            }
            unsupported = `the driver does not support this Firefox: ${reason}`;
            console.warn(`skipped: ${unsupported}`);
            return undefined;
        }
    });
    beforeEach((context) => context.skip(unsupported !== "", unsupported));
    // Faults in a page fail the test that opened it.
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
        // "warn" in Firefox, "warning" in Chromium.
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
    const [name = "", part] = report.split("#");
    const path = name.includes("/") ? name : `${FOLDER}/${name}.html`;
    return part === undefined ? path : `${path}#${part}`;
}

// Opens a report, which may have a fragment ("live#live-2"), and waits for its script.
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
        const recorded: string[] = [];
        (window as unknown as { violations: string[] }).violations = recorded;
        document.addEventListener("securitypolicyviolation", (event) => {
            recorded.push(`policy: ${event.violatedDirective} ${event.blockedURI}`);
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

// Titles of the visible cards, in order.
export async function shownCards(page: Page): Promise<string[]> {
    return page.locator(".card:visible .title").allTextContents();
}
