// SPDX-License-Identifier: Apache-2.0
// Adds the tab "Memory" and the chart of the memory over the steps.
import { byId } from "../page/dom";
import { formatBytes } from "../page/format";
import type { Tab } from "../page/tabs";
import type { Report } from "../report/schema";
import { memoryView, sortedAccounts } from "./account";
import { stepsPanel } from "./over_steps";

// Returns the tab, if there is one.
export function showMemory(report: Report): Tab | undefined {
    const panel = stepsPanel(report);
    if (panel !== undefined) {
        byId("timeline").before(panel);
    }
    const view = memoryView(report);
    if (view === undefined) {
        return undefined;
    }
    byId("findings").after(view);
    const [account] = sortedAccounts(report);
    return { panel: "memory", name: "Memory", note: formatBytes(account?.in_use ?? 0) };
}
