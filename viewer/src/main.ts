// SPDX-License-Identifier: Apache-2.0
// The page is complete without this script: everything there is to read is in it. What is added
// here needs a reader's hand: choosing, zooming, copying, judging.
import "./style/page.css";
import { PageCopy } from "./report/save";
import { readReport } from "./report/read";
import { enhanceCards, unfoldCards } from "./findings/cards";
import { addEditorChoice } from "./findings/editors";
import { showChosenFindings } from "./findings/list";
import { State } from "./findings/state";
import { addTools } from "./findings/tools";
import { drawRanks } from "./ranks/ranks";
import { drawTimeline } from "./timeline/timeline";

async function start(copy: PageCopy): Promise<void> {
    const report = await readReport(document);
    const state = new State(report);
    addTools(state);
    showChosenFindings(state);
    drawTimeline(state);
    drawRanks(state);
    addEditorChoice();
    enhanceCards(report, copy);
    document.documentElement.dataset.ready = "";
}

// Taken first: a copy must be the page as it came.
start(new PageCopy()).catch((error: unknown) => {
    // Readable without us; say why the rest is missing.
    unfoldCards();
    console.error("cyclewatch:", error);
});
