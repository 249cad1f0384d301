// SPDX-License-Identifier: Apache-2.0
// Adds the interactive parts of the page: filters, charts, zoom, copy buttons, verdicts. The page is
// readable without this script.
import "./style/theme.css";
import "./style/overview.css";
import "./style/cards.css";
import "./style/panels.css";
import { PageCopy } from "./report/save";
import { readReport } from "./report/read";
import { enhanceCards, showChosenFindings, unfoldCards } from "./findings/cards";
import { addEditorChoice } from "./findings/editors";
import { State } from "./findings/state";
import { addTools } from "./findings/tools";
import { showLive } from "./live/live";
import { drawRanks } from "./ranks/ranks";
import { drawTimeline } from "./timeline/timeline";

async function start(copy: PageCopy): Promise<void> {
    const report = await readReport(document);
    const state = new State(report);
    addTools(state);
    showChosenFindings(state);
    drawTimeline(state);
    drawRanks(state);
    if (report.findings.length > 0 || document.getElementById("live") !== null) {
        addEditorChoice();
    }
    enhanceCards(report, copy);
    showLive(report);
    document.documentElement.dataset.ready = "";
}

// PageCopy must be created before the document changes.
start(new PageCopy()).catch((error: unknown) => {
    // Show all cards without controls.
    unfoldCards();
    console.error("cyclewatch:", error);
});
