// SPDX-License-Identifier: Apache-2.0
// The line above the summary: the program that was watched.
import { make } from "../page/dom";
import { shownName } from "../page/text";
import type { Report } from "../report/schema";
import type { Texts } from "../report/texts";

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

// "28 Nov 2026, 16:55 UTC"; the seconds are in the tooltip.
function time(started_at: string): HTMLElement {
    const parts = /^(\d{4})-(\d\d)-(\d\d)T(\d\d:\d\d)[\d:.]*Z$/.exec(started_at);
    const month = MONTHS[Number(parts?.[2]) - 1];
    if (parts === null || month === undefined) {
        return make("span", {}, shownName(started_at));
    }
    const [, year = "", , day = "", minute = ""] = parts;
    return make("time", { datetime: started_at, title: started_at }, `${Number(day)} ${month} ${year}, ${minute} UTC`);
}

export function programFacts({ processes }: Report, texts: Texts): (Node | string)[] {
    const [program, ...others] = processes;
    const facts =
        program === undefined || others.length > 0
            ? [texts.processes]
            : [
                  program.script,
                  program.rank >= 0 ? `rank ${program.rank}` : "",
                  `process ${program.pid}`,
              ];
    const shown = facts.filter((fact) => fact !== "").map((fact) => make("span", {}, shownName(fact)));
    if (program !== undefined && others.length === 0) {
        shown.push(time(program.started_at));
    }
    return [make("b", {}, "cyclewatch"), ...shown.flatMap((fact) => [" ", fact])];
}
