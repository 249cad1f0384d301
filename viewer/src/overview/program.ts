// SPDX-License-Identifier: Apache-2.0
// The line above the summary: the program that was watched.
import { make } from "../page/dom";
import { shownName } from "../page/text";
import type { Report } from "../report/schema";
import type { Texts } from "../report/texts";

export function programFacts({ processes }: Report, texts: Texts): (Node | string)[] {
    const [program, ...others] = processes;
    const facts =
        program === undefined || others.length > 0
            ? [texts.processes]
            : [
                  program.script,
                  program.rank >= 0 ? `rank ${program.rank}` : "",
                  `process ${program.pid}`,
                  program.started_at,
              ];
    const shown = facts.filter((fact) => fact !== "").map((fact) => make("span", {}, shownName(fact)));
    return [make("b", {}, "cyclewatch"), ...shown.flatMap((fact) => [" ", fact])];
}
