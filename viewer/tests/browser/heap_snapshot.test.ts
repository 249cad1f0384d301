// SPDX-License-Identifier: Apache-2.0
// Loads the heap snapshot of a report with the library that VS Code uses for V8 snapshots, which
// computes retained sizes itself.
import { decode_bytes, WasmSortBy, type Node } from "@vscode/v8-heap-parser";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { FOLDER } from "./reports";

const ALL = 1000;

test("a V8 heap snapshot loader computes the retained sizes", () => {
    const graph = decode_bytes(readFileSync(`${FOLDER}/golden.heapsnapshot`));
    const below = (node: number): Node[] => graph.node_children(node, 0, ALL, WasmSortBy.RetainedSize);

    const findings = below(graph.root_index);
    expect(findings.map((node) => node.name())).toEqual([
        expect.stringMatching(/^cw1-[0-9a-f]{16} ShardError\.__traceback__/),
        expect.stringMatching(/^cw1-[0-9a-f]{16} Node\.other/),
        expect.stringMatching(/^cw1-[0-9a-f]{16} AwaitableTensorWithViewCallback\.callback/),
    ]);
    // The size of a Python object is unknown. One byte is written, so that loaders list the object.
    const [owner] = below(findings[2]?.index ?? -1);
    expect(owner?.name()).toContain("AwaitableTensorWithViewCallback");
    expect(owner?.self_size).toBe(1n);
    expect(owner?.retained_size).toBe(4_194_304n + 2n);

    const classes = graph.get_class_groups(0, ALL, false);
    const tensor = classes.find((group) => group.name().includes("torch.Tensor [1024, 1024] float32"));
    expect(tensor?.self_size).toBe(4_194_304n);
    expect(tensor?.retained_size).toBe(4_194_304n);
});
