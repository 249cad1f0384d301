# SPDX-License-Identifier: Apache-2.0
"""Over its budget, a watch searches only some collections, and its report states this."""

import gc
import time

import cyclewatch

NOT_SEARCHED = "collections not searched for tensors: over budget"


class Buffer:
    """An owner."""


def read_slowly(buffer):
    """Take longer than the budget allows, once."""
    if buffer.first:
        began = time.perf_counter()
        while time.perf_counter() - began < 0.5:
            pass
    return {"device": "cpu", "nbytes": 64, "data_ptr": id(buffer)}


def leak(*, first):
    buffer = Buffer()
    buffer.self = buffer
    buffer.first = first


def test_collections_over_budget_are_not_searched():
    cyclewatch.register_owner(Buffer, read_slowly)
    gc.collect()
    gc.disable()
    try:
        with cyclewatch.watch(devices="cpu", budget=1e-6) as watch:
            leak(first=True)
            gc.collect(0)
            leak(first=False)
            gc.collect(0)
            report = watch.report()
    finally:
        gc.enable()
    (finding,) = report.findings
    assert finding.occurrences == report.stats.owners == 1
    assert report.stats.skipped == {NOT_SEARCHED: 1}
    assert report.stats.unreachable >= 2  # also those that were not listed
    assert "At least 1 reference cycle kept at least 64 B" in report.to_text()


def test_a_budget_of_one_is_no_limit():
    cyclewatch.register_owner(Buffer, read_slowly)
    gc.collect()
    gc.disable()
    try:
        with cyclewatch.watch(devices="cpu", budget=1.0) as watch:
            for first in (True, False):
                leak(first=first)
                gc.collect(0)
            report = watch.report()
    finally:
        gc.enable()
    assert report.findings[0].occurrences == 2
    assert report.stats.skipped == {}
