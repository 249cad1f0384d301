// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { asIssue, asMarkdown } from "../../src/findings/markdown";
import type { Finding } from "../../src/report/schema";
import type { FindingTexts } from "../../src/report/texts";
import { golden } from "./golden";

const report = golden();
const [finding] = report.findings as [Finding];

function texts(changes: number): FindingTexts {
    const line = { number: "7", before: "x = ", expression: "f(self)", after: "", here: true };
    const each = { first: 0, references: 1, holders: ["A"], counted_holders: "1 class", classes: "", code: [line] };
    return {
        headline: "A [cycle](x) keeps `b*c` alive <now>",
        size: "4.0 MiB",
        occasions: "1 collection",
        sharing: "",
        unowned: "",
        collected: "",
        never_freed: false,
        changes: Array.from({ length: changes }, () => each),
        alternative_code: [],
        shown_steps: 2,
        more_steps: 0,
        picture: { svg: "", note: "", wide: false, undrawn: 0 },
    };
}

test("Markdown names the cut, its code and the signature, and escapes text outside of code", () => {
    const text = asMarkdown(finding, texts(1));
    expect(text).toContain("A \\[cycle\\](x) keeps `b*c` alive \\<now\\>");
    expect(text).toContain("**Cut** `closure:self` of");
    expect(text).toContain("at `examples/awaitable.py:44`");
    expect(text).toContain("```python\nx = f(self)  # <-\n```");
    expect(text).toContain(`Signature \`${finding.signature}\``);
});

test("a name with backticks cannot end its code", () => {
    const cut = finding.cut.map((reference) => ({ ...reference, label: "a``b`", holder: "h", location: "" }));
    expect(asMarkdown({ ...finding, cut }, texts(1))).toContain("**Cut** ``` a``b` ``` of `h`");
});

test("a long list of locations is cut off", () => {
    expect(asMarkdown(finding, texts(12))).toContain("- 3 more locations");
});

test("an issue lists the cycle and the versions", () => {
    const text = asIssue(report, finding, texts(1));
    expect(text).toMatch(/^# Reference cycle through `/);
    expect(text).toContain(`Python ${report.processes[0]?.python_version ?? ""}, cyclewatch `);
    const [step] = finding.cycle;
    expect(text).toContain(`${step?.label ?? ""} -> ${step?.target ?? ""}`);
});
