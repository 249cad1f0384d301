// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { fillPage, securityPolicy } from "../../build/single_file";
import { formatReport, parseReport, scriptSafe } from "../../src/report/read";
import { golden } from "./golden";

test("embedded data is ASCII without markup", () => {
    const value = { note: '</script><!-- & \u2028 \ud800 \ud83d\ude00 é "' };
    const safe = scriptSafe(JSON.stringify(value));
    expect(safe).toMatch(/^[\x20-\x7e]*$/);
    expect(safe).not.toMatch(/[<>&]/);
    expect(JSON.parse(safe)).toEqual(value);
});

test("the policy allows only the hashes of script and style", () => {
    const policy = securityPolicy("1", "2");
    expect(policy).toContain("default-src 'none'");
    // printf 1 | openssl dgst -sha256 -binary | base64
    expect(policy).toContain("script-src 'sha256-a4ayc/80/OGda4BO/1o/V0etpOqiLx1JwB5S3beHW0s='");
    expect(policy).not.toContain("unsafe");
});

test("the bundle is inserted unchanged or rejected", () => {
    const page = "<!--build:policy--><!--build:style--><!--build:script-->";
    expect(fillPage(page, "a.replace(/$/, '$&')", "b{}")).toContain("<script>a.replace(/$/, '$&')</script>");
    expect(() => fillPage(page, "'</script>'", "")).toThrow("end its element");
});

test("converts by_process between columns and the documented list", () => {
    const columns = golden().findings[1]?.by_process;
    expect(columns).toMatchObject({ process: [0], occurrences: [100] });
    const list = { process: [0, 2], occurrences: [1, 3], retained_bytes: [4, 5], first_seen: [0.5, 6], first_step: [-1, 7] };
    const report = golden();
    report.findings.slice(0, 1).forEach((finding) => (finding.by_process = list));
    const stored = formatReport(report);
    expect((JSON.parse(stored) as { findings: { by_process: unknown }[] }).findings[0]?.by_process).toEqual([
        { process: 0, occurrences: 1, retained_bytes: 4, first_seen: 0.5, first_step: -1 },
        { process: 2, occurrences: 3, retained_bytes: 5, first_seen: 6, first_step: 7 },
    ]);
    expect(parseReport(stored)).toEqual(report);
    // Packed pages store columns.
    expect(parseReport(JSON.stringify(report))).toEqual(report);
});
