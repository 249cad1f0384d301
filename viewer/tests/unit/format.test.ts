// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { EDITORS, linkFor } from "../../src/findings/editors";
import { counted, formatBytes, formatCount, formatDuration, formatPercent } from "../../src/page/format";

// The same cases as in tests/cpp.
test.each([
    [0, "0 B"],
    [1023, "1023 B"],
    [1024, "1.0 KiB"],
    [1023.4 * 1024, "1023 KiB"],
    [1023.6 * 1024, "1.0 MiB"],
    [99.96 * 1024, "100 KiB"],
    [342 * 2 ** 20, "342 MiB"],
    [1.25 * 1024, "1.2 KiB"],
    [2 ** 64, "16.0 EiB"],
    [NaN, "0 B"],
])("%d bytes", (bytes, text) => expect(formatBytes(bytes)).toBe(text));

test.each([
    [0, "0 s"],
    [-1, "0 s"],
    [0.0004, "0.4 ms"],
    [0.035, "35 ms"],
    [2.3, "2.3 s"],
    [2.25, "2.2 s"],
    [2.35, "2.4 s"],
    [2.75, "2.8 s"],
    [90.5 * 60, "90 min"],
    [720, "12 min"],
    [12240, "3.4 h"],
    [86400 * 9, "9 days"],
    [1e15, "ages"],
    [Infinity, "0 s"],
])("%d seconds", (seconds, text) => expect(formatDuration(seconds)).toBe(text));

test.each([
    [0, "0 %"],
    [NaN, "0 %"],
    [0.00009, "under 0.01 %"],
    [0.0004, "0.04 %"],
    [0.0725, "7.2 %"],
    [0.5, "50 %"],
    [11, "over 1000 %"],
])("a share of %d", (share, text) => expect(formatPercent(share)).toBe(text));

test("counts", () => {
    expect(formatCount(12345678)).toBe("12,345,678");
    expect(counted(1, "cycle")).toBe("1 cycle");
    expect(counted(1000, "process", "processes")).toBe("1,000 processes");
});

test("links need an editor, a line and an absolute path", () => {
    expect(linkFor({ editor: "", folder: "/x" }, "/a/b.py:3")).toBeUndefined();
    expect(linkFor({ editor: "constructor", folder: "" }, "/a/b.py:3")).toBeUndefined();
    expect(linkFor({ editor: "vscode", folder: "" }, "b.py:3")).toBeUndefined();
    expect(linkFor({ editor: "vscode", folder: "" }, "/a/b.py")).toBeUndefined();
    expect(linkFor({ editor: "vscode", folder: "/x/" }, "b.py:3")).toBe("vscode://file/x/b.py:3");
});

test("paths are escaped", () => {
    for (const editor of Object.keys(EDITORS)) {
        const link = linkFor({ editor, folder: "" }, '/a b/"?x=#&.py:3') ?? "";
        expect(new URL(link).protocol).toBe(`${editor === "pycharm" ? "pycharm" : editor}:`);
        expect(link).not.toMatch(/["# ]/);
    }
    const tricky = linkFor({ editor: "vscode", folder: "" }, "/javascript:alert(1)//:3");
    expect(tricky).toBe("vscode://file/javascript%3Aalert(1)//:3");
});
