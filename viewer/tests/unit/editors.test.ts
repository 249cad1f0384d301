// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { EDITORS, linkFor } from "../../src/findings/editors";

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
