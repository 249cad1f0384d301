// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { facet, openReport, shownCards, useBrowser } from "./browser";

useBrowser();

test("a search matches findings that contain every word", async () => {
    const page = await openReport("golden");
    await facet(page, "Search").fill("shard io.py");
    expect(await shownCards(page)).toEqual([expect.stringContaining("ShardError")]);
    expect(await page.locator(".bars li:visible").count()).toBe(1);
    expect(await page.locator(".outcome").textContent()).toContain("1 of 3 findings");
    await facet(page, "Search").fill("nothing like it");
    expect(await page.getByText("No findings match").isVisible()).toBe(true);
    await page.getByRole("button", { name: "Show all" }).click();
    expect(await shownCards(page)).toHaveLength(3);
    expect(await facet(page, "Search").inputValue()).toBe("");
});

test.each([
    ["Pattern", "closure-captures-self", "Awaitable"],
    ["File", "examples/simple.py", "Node.other"],
    ["Status", "known", "ShardError"],
])("filters by %s", async (name, value, title) => {
    const page = await openReport("golden");
    await facet(page, name).selectOption(value);
    expect(await shownCards(page)).toEqual([expect.stringContaining(title)]);
});

test("filters by rank in a merged report", async () => {
    const page = await openReport("merged");
    await facet(page, "Rank").selectOption("2");
    expect(await shownCards(page)).toHaveLength(2);
    await facet(page, "Rank").selectOption("");
    expect(await shownCards(page)).toHaveLength(3);
});

test.each([
    ["occurrences", ["Node", "Awaitable", "Shard"]],
    ["first_seen", ["Awaitable", "Node", "Shard"]],
    ["byte_seconds", ["Awaitable", "Node", "Shard"]],
])("sorts by %s, new findings first", async (sort, order) => {
    const page = await openReport("golden");
    await facet(page, "Sort by").selectOption(sort);
    expect(await shownCards(page)).toEqual(order.map((name) => expect.stringContaining(name) as string));
});
