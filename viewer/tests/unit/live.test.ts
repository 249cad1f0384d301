// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { ALL_LIVE, chooseLive, liveSearchText, nest, pathInHolder } from "../../src/live/groups";
import type { LiveOwner } from "../../src/report/schema";
import { golden } from "./golden";

const report = golden();
const [losses] = report.live_owners ?? [];
if (losses === undefined) {
    throw new Error("the golden report has no live tensors");
}
const template = losses;

function group(part: Partial<LiveOwner>): LiveOwner {
    return { ...template, ...part };
}

const model: LiveOwner["held_by"][number] = {
    root: { kind: "local variable", text: "train() local model", location: "" },
    references: [],
    cut_frees: false,
    text: "train() local model -> model.weight",
};
const owners = [
    group({ bytes: 30, category: "parameter", held_by: [model] }),
    group({ bytes: 20, category: "parameter", held_by: [] }),
    group({ bytes: 10, category: "parameter", held_by: [model] }),
    group({ bytes: 50, category: "activation" }),
];
const texts = owners.map((live) => liveSearchText(report, live));

test("nests groups by category and holder", () => {
    const names = nest(owners, [0, 1, 2, 3]).children.map(({ name, children }) => [
        name,
        children.map((holder) => [holder.name, holder.children.map(({ index, bytes }) => [index, bytes])]),
    ]);
    expect(names).toEqual([
        ["parameter", [["train() local model", [[0, 30], [2, 10]]], ["not known", [[1, 20]]]]],
        ["activation", [["train() local losses", [[3, 50]]]]],
    ]);
    expect(nest(owners, [])).toMatchObject({ children: [] });
});

test("names a group by its path without the root", () => {
    expect(pathInHolder(group({}))).toBe("losses[x]");
    const { owner } = group({});
    expect(pathInHolder(group({ held_by: [], owner: { ...owner, path: "" } }))).toBe("torch.Tensor");
});

test("searches and sorts; equal groups keep their order", () => {
    expect(chooseLive(report, owners, texts, ALL_LIVE)).toEqual([3, 0, 1, 2]);
    expect(chooseLive(report, owners, texts, { ...ALL_LIVE, search: "MODEL parameter" })).toEqual([0, 2]);
    expect(chooseLive(report, owners, texts, { ...ALL_LIVE, sort: "holder" })).toEqual([3, 0, 2, 1]);
    expect(chooseLive(report, owners, texts, { ...ALL_LIVE, sort: "count", facets: { category: "parameter" } })).toEqual([0, 1, 2]);
    expect(chooseLive(report, owners, texts, { ...ALL_LIVE, facets: { process: "rank 7" } })).toEqual([]);
});
