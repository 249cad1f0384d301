# SPDX-License-Identifier: Apache-2.0
"""Measures the time to draw the picture of a finding: graph, layout by Graphviz, and SVG.

The smallest picture has two objects and an owner. The largest one has as many boxes and lines as
are ever drawn (render/graph/picture_layout.h). It does not fit the page, so it is laid out twice.
"""

from __future__ import annotations

import gc
import json
import tempfile
import time
from collections.abc import Callable
from typing import Any

from measure import Figure, main
from workloads import Block, drop_pairs, read_block

import cyclewatch

MEMBERS, BOXES = 12, 40


def report_of_two() -> cyclewatch.Report:
    """Watch a cycle of two objects."""
    cyclewatch.register_owner(Block, read_block)
    with cyclewatch.watch(devices=("cpu",), budget=1) as watch:
        drop_pairs(1, lambda: Block(4096))
        gc.collect()
    return watch.report()


def with_largest_picture(report: cyclewatch.Report) -> cyclewatch.Report:
    """Replace the picture by a cycle with a tree below it, and a reference of each object."""
    data: dict[str, Any] = json.loads(report.to_json())
    picture = data["findings"][0]["picture"]
    item, arrow = picture["items"][0], picture["arrows"][0]
    picture["items"] = [
        {**item, "text": f"Module{i}", "on_cycle": i < MEMBERS} for i in range(BOXES)
    ]
    ring = [(i, (i + 1) % MEMBERS) for i in range(MEMBERS)]
    tree = [(i // 3, i) for i in range(MEMBERS, BOXES)]
    others = [(i, (7 * i + 3) % BOXES) for i in range(BOXES)]
    picture["arrows"] = [
        {**arrow, "from": start, "to": end, "on_cycle": i < MEMBERS, "cut": i + 1 == MEMBERS}
        for i, (start, end) in enumerate(ring + tree + others)
    ]
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(data, file)
        file.flush()
        return cyclewatch.Report.load(file.name)


def cpu_seconds_of(function: Callable[[], object]) -> float:
    """Return the CPU time that a call takes on this thread."""
    start = time.thread_time()
    function()
    return time.thread_time() - start


def measure(quick: bool) -> list[Figure]:
    small = report_of_two()
    figures = []
    for what, report, goal in (
        ("two objects and an owner", small, 5),
        ("40 objects, 80 references", with_largest_picture(small), 200),
    ):
        [finding] = report.findings
        samples = [1000 * cpu_seconds_of(finding.to_svg) for _ in range(3 if quick else 100)]
        figures.append(Figure(f"picture of {what}, CPU time", "ms", samples, goal))
    return figures


if __name__ == "__main__":
    main(measure)
