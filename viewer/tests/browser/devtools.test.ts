// SPDX-License-Identifier: Apache-2.0
// The heap snapshot of a report, loaded by DevTools itself: a Chromium that can be debugged serves
// the ones it was built with.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { CHROMIUM } from "./browser";
import { FOLDER } from "./reports";
import { chromium, type BrowserContext, type Page } from "playwright-core";

// The port is the first line of a file in the profile; any that is free.
async function launch(profile: string): Promise<[BrowserContext, string]> {
    const context = await chromium.launchPersistentContext(profile, {
        executablePath: CHROMIUM,
        args: ["--no-sandbox", "--disable-gpu", "--remote-debugging-port=0"],
        viewport: { width: 1400, height: 900 },
    });
    const [port = ""] = readFileSync(join(profile, "DevToolsActivePort"), "utf8").split("\n");
    return [context, `127.0.0.1:${port}`];
}

async function openMemoryPanel(context: BrowserContext, address: string): Promise<Page> {
    const debugged = await context.newPage();
    await debugged.goto("data:text/html,<title>debugged</title>");
    const targets = (await (await fetch(`http://${address}/json/list`)).json()) as {
        id: string;
        title: string;
    }[];
    const id = targets.find(({ title }) => title === "debugged")?.id ?? "";
    const panel = await context.newPage();
    const query = `?ws=${address}/devtools/page/${id}&panel=heap-profiler`;
    await panel.goto(`http://${address}/devtools/devtools_app.html${query}`);
    return panel;
}

test("DevTools loads the heap snapshot and shows what the loops held", { timeout: 90_000 }, async () => {
    const profile = mkdtempSync(join(tmpdir(), "cyclewatch-devtools-"));
    const [context, address] = await launch(profile);
    try {
        const panel = await openMemoryPanel(context, address);
        const [chooser] = await Promise.all([
            panel.waitForEvent("filechooser", { timeout: 60_000 }),
            panel.getByRole("button", { name: /load profile/i }).first().click({ timeout: 60_000 }),
        ]);
        await chooser.setFiles(`${FOLDER}/golden.heapsnapshot`);
        const rows = panel.locator("tr");
        const own = rows.filter({ hasText: "torch.Tensor [1024, 1024] float32" });
        const snapshot = panel.getByRole("treeitem").filter({ hasText: /golden/ });
        await snapshot.waitFor({ timeout: 60_000 });
        // A snapshot that is chosen before it is loaded stays unseen until it is chosen again.
        const chosen = async (): Promise<number> => {
            await panel.getByRole("treeitem").first().click();
            await snapshot.click();
            return own.count();
        };
        await expect.poll(chosen, { timeout: 30_000, interval: 500 }).toBeGreaterThan(0);
        const table = (await rows.allInnerTexts()).map((row) => row.replace(/\s+/g, " "));
        // Name, distance, own size and retained size, each with its share. Nobody knows how large
        // the first is itself, but it is there, with all that it retains.
        expect(table).toContainEqual(
            expect.stringMatching(/AwaitableTensorWithViewCallback\) 2 0\.0 kB ?0 % 4,194 kB ?10 %/),
        );
        expect(table).toContainEqual(
            expect.stringMatching(/torch\.Tensor \[1024, 1024\] float32\) 4 4,194 kB ?10 % 4,194/),
        );
    } finally {
        await context.close();
        rmSync(profile, { recursive: true, force: true });
    }
});
