// SPDX-License-Identifier: Apache-2.0
// The page is complete without this script: everything there is to read is in it. What is added
// here needs a reader's hand: choosing, zooming, copying, judging.
import "./style/page.css";
import { PageCopy } from "./report/save";
import { readReport } from "./report/read";
import { addEditorChoice } from "./findings/editors";
import { showChosenFindings } from "./findings/list";
import { addPlaceButtons } from "./findings/places";
import { State } from "./findings/state";
import { addTools } from "./findings/tools";
import { addVerdicts } from "./findings/verdicts";
import { makePicturesZoomable } from "./picture/zoom";
import { drawRanks } from "./ranks/ranks";
import { drawHistories } from "./timeline/history";
import { drawTimeline } from "./timeline/timeline";

async function start(copy: PageCopy): Promise<void> {
    const report = await readReport(document);
    const state = new State(report);
    addTools(state);
    showChosenFindings(state);
    drawTimeline(state);
    drawRanks(state);
    drawHistories(report);
    makePicturesZoomable();
    addEditorChoice();
    addPlaceButtons();
    addVerdicts(report, copy);
    document.documentElement.dataset.ready = "";
}

// Taken first: a copy must be the page as it came.
start(new PageCopy()).catch((error: unknown) => {
    // Readable without us; say why the rest is missing.
    console.error("cyclewatch:", error);
});
