// SPDX-License-Identifier: Apache-2.0
// Draws the page from the embedded report: cards, filters, charts, verdicts. Without this script, the page shows the text
// report.
import "./style/theme.css";
import "./style/overview.css";
import "./style/cards.css";
import "./style/panels.css";
import "./style/memory.css";
import { PageCopy } from "./report/save";
import { readReport, readTexts } from "./report/read";
import { drawCards, showChosenFindings } from "./findings/cards";
import { addEditorChoice } from "./findings/editors";
import { State } from "./findings/state";
import { addTools } from "./findings/tools";
import { showLive } from "./live/live";
import { findingBars } from "./overview/bars";
import { footer, generationsPanel } from "./overview/closing";
import { devicesPanel } from "./overview/devices";
import { programFacts } from "./overview/program";
import { showMemory } from "./memory/memory";
import { byId } from "./page/dom";
import { addTabs } from "./page/tabs";
import { collectionsPanel } from "./ranks/collections";
import { overlayPanel } from "./ranks/overlay";
import { ranksPanel } from "./ranks/ranks";
import { drawTimeline } from "./timeline/timeline";

async function start(copy: PageCopy): Promise<void> {
    const [report, texts] = await Promise.all([readReport(document), readTexts(document)]);
    byId("program").append(...programFacts(report, texts));
    byId("overview").append(...findingBars(report), ...devicesPanel(texts));
    drawCards(report, texts, copy);
    byId("closing").append(...generationsPanel(report, texts), footer(report, texts));
    const state = new State(report);
    byId("by-process").append(...overlayPanel(report), ...ranksPanel(state), ...collectionsPanel(report, texts));
    addTools(state);
    showChosenFindings(state);
    drawTimeline(state);
    const live = showLive(report, texts);
    const memory = showMemory(report);
    const findings = { panel: "findings", name: "Findings", note: String(report.findings.length) };
    addTabs([report.findings.length > 0 ? findings : undefined, memory, live].filter((tab) => tab !== undefined));
    if (report.findings.length > 0 || document.getElementById("live") !== null) {
        addEditorChoice();
    }
    if (!restorePosition()) {
        goToTarget();
    }
    document.documentElement.dataset.ready = "";
}

// A browser that looked for the target of a link before it was drawn does not look again.
function goToTarget(): void {
    const target = document.getElementById(location.hash.slice(1));
    if (target?.matches(":target") === false) {
        location.replace(location.hash);
    }
}

// A browser restores the position of a reloaded page before the page is drawn, and tabs scroll to the target.
function keepPosition(): void {
    addEventListener("pagehide", () => history.replaceState({ scroll: scrollY }, ""));
}

function restorePosition(): boolean {
    const [navigation] = performance.getEntriesByType("navigation") as PerformanceNavigationTiming[];
    const saved = (history.state as { scroll?: unknown } | null)?.scroll;
    if (navigation?.type !== "reload" || typeof saved !== "number") {
        return false;
    }
    scrollTo(0, saved);
    return true;
}

// For cyclewatch view --follow. Unlike a refresh by the browser, this also works if the address names a tab, and keeps it.
function reloadLater(): void {
    const meta = document.querySelector<HTMLMetaElement>("meta[name=cyclewatch-reload]");
    if (meta !== null) {
        setTimeout(() => location.reload(), Number(meta.content) * 1000);
    }
}

// Shows what browsers without scripts show. Other browsers parse the contents of <noscript> as text.
function showText(): void {
    const text = document.querySelector("noscript");
    const page = new DOMParser().parseFromString(text?.textContent ?? "", "text/html");
    text?.replaceWith(...page.body.childNodes);
}

keepPosition();
reloadLater();
// PageCopy must be created before the document changes.
start(new PageCopy()).catch((error: unknown) => {
    showText();
    console.error("cyclewatch:", error);
});
