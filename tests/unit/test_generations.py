# SPDX-License-Identifier: Apache-2.0
"""Report.generations: the cost of the collections of each generation, and the memory they freed."""

import gc
import sys

import pytest
from owners import Buffer, Node

import cyclewatch

pytestmark = pytest.mark.usefixtures("buffers_are_owners", "no_automatic_collection")


def by_generation(report):
    return {totals.generation: totals for totals in report.generations}


def test_all_collections_are_counted():
    with cyclewatch.watch(devices="cpu", budget=1) as watch:
        gc.collect(0)
        gc.collect(1)
        Node()
        reclaimed = [gc.collect(0), gc.collect()]
        Node(Buffer(1000))
        gc.collect()
    report = watch.report()
    totals = by_generation(report)
    assert {number: each.collections for number, each in totals.items()} == {0: 2, 1: 1, 2: 2}
    assert repr(totals[1]) == "<GenerationTotals of generation 1: 1 collection, 0 B>"
    assert sum(each.collections for each in totals.values()) == report.stats.collections
    assert totals[0].reclaimed == reclaimed[0] >= 1
    assert [(each.freeing, each.freed_bytes) for each in totals.values()] == [
        (0, 0),
        (0, 0),
        (1, 1000),
    ]
    full = totals[2]
    assert 0 < full.freeing_seconds < full.seconds < report.stats.collection_seconds
    assert full.share == pytest.approx(full.seconds / report.stats.elapsed, abs=1e-6)
    assert (full.examined is None) == (sys.version_info < (3, 15))


def test_text_answers_whether_collections_are_needed():
    with cyclewatch.watch(devices="cpu", budget=1) as watch:
        gc.collect()
        Node(Buffer(1000))
        gc.collect()
    report = watch.report()
    text = " ".join(report.to_text().split())
    signature = report.findings[0].signature
    assert "1 of 2 collections freed no device memory and took" in text
    assert f"the other one freed 1000 B: {signature}. Cut it, and automatic" in text
    assert "generation 2: 2 collections in" in text


def test_collection_frees_what_a_scan_reported():
    with cyclewatch.watch(devices="cpu", budget=1) as watch:
        Node(Buffer(1000))
        watch.step(1)
        assert watch.report().generations == []
        gc.collect()
    (totals,) = watch.report().generations
    assert (totals.freeing, totals.freed_bytes) == (1, 1000)


def test_merged_report_adds_the_totals(tmp_path):
    with cyclewatch.watch(devices="cpu", budget=1) as watch:
        Node(Buffer(1000))
        gc.collect()
    first = watch.report()
    path = tmp_path / "second.json"
    first.save(path)
    path.write_text(path.read_text().replace('"rank": -1', '"rank": 1'))
    merged = cyclewatch.Report.merge([first, cyclewatch.Report.load(path)])
    (totals,) = merged.generations
    assert (totals.collections, totals.freeing, totals.freed_bytes) == (2, 2, 2000)
    assert totals.share == pytest.approx(totals.seconds / merged.stats.elapsed, abs=1e-6)
