// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { fillPage, securityPolicy } from "../../build/single_file";
import { scriptSafe } from "../../src/report/read";

test("data in a page is ASCII and ends nothing", () => {
    const value = { note: '</script><!-- & \u2028 \ud800 \ud83d\ude00 é "' };
    const safe = scriptSafe(JSON.stringify(value));
    expect(safe).toMatch(/^[\x20-\x7e]*$/);
    expect(safe).not.toMatch(/[<>&]/);
    expect(JSON.parse(safe)).toEqual(value);
});

test("the policy names script and style by their hashes and nothing else", () => {
    const policy = securityPolicy("1", "2");
    expect(policy).toContain("default-src 'none'");
    // printf 1 | openssl dgst -sha256 -binary | base64
    expect(policy).toContain("script-src 'sha256-a4ayc/80/OGda4BO/1o/V0etpOqiLx1JwB5S3beHW0s='");
    expect(policy).not.toContain("unsafe");
});

test("the bundle goes into the page as it is, or not at all", () => {
    const page = "<!--build:policy--><!--build:style--><!--build:script-->";
    expect(fillPage(page, "a.replace(/$/, '$&')", "b{}")).toContain("<script>a.replace(/$/, '$&')</script>");
    expect(() => fillPage(page, "'</script>'", "")).toThrow("end its element");
});
