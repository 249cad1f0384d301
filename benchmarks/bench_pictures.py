# SPDX-License-Identifier: Apache-2.0
"""Measures the time to draw the picture of a finding: graph, layout by Graphviz, and SVG.

The smallest picture has two objects and an owner. The largest one has as many boxes and lines as
are ever drawn (render/graph/picture_layout.h). It does not fit the page, so it is laid out twice.

Memory is the increase of the resident set. The first picture loads Graphviz's layout
engine; what later pictures add is never freed (Graphviz 2.42 loses edges of larger graphs).
"""

from __future__ import annotations

import gc
import json
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from measure import Figure, in_child, main
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


def resident_kib() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() / 1024


def child(times: int) -> dict[str, float | list[float]]:
    """Return what the first picture and each further one of both sizes add, in KiB."""
    small = report_of_two()
    added: dict[str, float | list[float]] = {}
    for name, report in (("small", small), ("large", with_largest_picture(small))):
        [finding] = report.findings
        start = resident_kib()
        finding.to_svg()
        first = resident_kib()
        for _ in range(times):
            finding.to_svg()
        added[name] = [first - start, (resident_kib() - first) / times]
    return added


def memory(quick: bool) -> list[Figure]:
    rounds = [in_child(__file__, times=10 if quick else 200) for _ in range(1 if quick else 3)]
    figures = []
    for name, what in (("small", "two objects and an owner"), ("large", "40 objects")):
        for column, added in enumerate(("the first picture", "each further picture")):
            samples = [row[column] for round in rounds if isinstance(row := round[name], list)]
            figures.append(Figure(f"memory that {added} of {what} adds", "KiB", samples))
    return figures


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
    return figures + memory(quick)


if __name__ == "__main__":
    main(measure, child)
