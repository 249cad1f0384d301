# SPDX-License-Identifier: Apache-2.0
"""Findings with the same cut are merged, and memory that findings share is attributed once."""

import functools
import gc

import pytest
from owners import Buffer

import cyclewatch
from cyclewatch.cli.comparison import compare, kinds_by_signature

pytestmark = pytest.mark.usefixtures("buffers_are_owners")


class Metric:
    """Each instance wraps its `update` method in a closure."""

    def __init__(self, size):
        self.block = Buffer(size)
        self.update = self.wrapped(self.update)

    def wrapped(self, method):
        """Return a closure over the bound method."""

        @functools.wraps(method)
        def wrapper():
            return method()

        return wrapper

    def update(self):
        pass


class Accuracy(Metric):
    """A subclass."""


class F1Score(Metric):
    """A subclass."""


class Recall(Metric):
    """A subclass."""


def report_of(*makers):
    """Call all `makers`, collect their garbage in one collection, and return the report."""
    with cyclewatch.watch(budget=1, devices=("cpu",)) as watch:
        for make in makers:
            make()
        gc.collect()
    return watch.report()


METRICS = [lambda: Accuracy(100), lambda: F1Score(300), lambda: Recall(200)]


def test_one_cut_in_several_classes_is_one_finding():
    (finding,) = report_of(*METRICS, lambda: F1Score(300)).findings
    assert [each.name for each in finding.variants] == ["F1Score", "Recall", "Accuracy"]
    assert [each.occurrences for each in finding.variants] == [2, 1, 1]
    assert (finding.retained_bytes, finding.occurrences) == (900, 4)
    assert set(finding.signatures) == {each.signature for each in finding.variants}
    assert finding.signature == min(finding.signatures)
    assert "    also  in Recall and Accuracy (2 cycles)" in finding.to_text()


def test_later_collections_are_merged_into_the_finding():
    with cyclewatch.watch(budget=1, devices=("cpu",)) as watch:
        signatures = []
        for make in METRICS:
            make()
            gc.collect()
            (finding,) = watch.report().findings
            signatures.append(finding.signature)
        assert len(set(signatures)) == 1
        assert len(finding.variants) == 3
        report = watch.report()
    assert {part.signature for each in report.collections for part in each.findings} == {
        signatures[0]
    }
    assert cyclewatch.Report.merge([report]).findings[0].variants[0].name == "F1Score"


def test_reports_compare_by_any_signature():
    before, after = report_of(*METRICS), report_of(METRICS[0])
    (change,) = compare(before, after)
    assert change.kind == "shrunk"
    kinds = kinds_by_signature(before, after)
    assert sorted(kinds.values()) == ["gone", "gone", "shrunk"]
    assert kinds[after.findings[0].signature] == "shrunk"


class Owner:
    """Keeps a function that captures it."""

    def __init__(self):
        self.block = Buffer(100)


def first_hook():
    owner = Owner()

    def hook():
        return owner

    owner.hook = hook


def second_hook():
    owner = Owner()

    def hook():
        return owner

    owner.hook = hook


def test_functions_of_the_same_name_are_two_findings():
    report = report_of(first_hook, second_hook)
    holders = {
        finding.cut.holder.removeprefix(f"function {__name__}.") for finding in report.findings
    }
    assert holders == {"first_hook.<locals>.hook", "second_hook.<locals>.hook"}
    assert len({finding.cut.location for finding in report.findings}) == 2


class Registry:
    """Refers to itself twice through a dict, under a string key and an integer key."""

    def __init__(self, size):
        self.block = Buffer(size)
        self.entries = {"a": self, id(self): self}


def test_cut_is_not_listed_again_as_an_alternative():
    (finding,) = report_of(lambda: Registry(100)).findings
    cut = (finding.cut.holder, finding.cut.label, finding.cut.location)
    alternatives = [(each.holder, each.label, each.location) for each in finding.alternatives]
    assert finding.cut.location is not None
    assert cut not in alternatives


class Node:
    """Refers to itself."""

    def __init__(self, block):
        self.me = self
        self.block = block


class Leaf(Node):
    """Refers to itself through the attribute `itself`; Node uses `me`."""

    def __init__(self, block):
        self.itself = self
        self.block = block


def test_shared_bytes_are_attributed_once():
    def share():
        block = Buffer(4096)
        Node(block)
        Leaf(block)

    report = report_of(share, lambda: Accuracy(100))
    assert [each.retained_bytes + each.shared_bytes for each in report.findings] == [
        4096,
        4096,
        100,
    ]
    assert [each.shared_with for each in report.findings] == [1, 1, 0]
    assert sum(each.attributed_bytes for each in report.findings) == report.retained_bytes == 4196
    assert "alive, shared with 1 other finding: " in report.findings[0].headline
    text = report.to_text()
    assert "#1  4.0 KiB in 1 cycle, shared with 1 other finding" in text
    assert "4.0 KiB is freed once the first finding and 1 other finding are fixed." in (
        text.replace("\n", " ")
    )


def test_cycle_with_only_living_memory_is_not_a_finding():
    alive = Buffer(4096)
    report = report_of(lambda: Node(alive))
    assert not report.findings
    report = report_of(lambda: Node(alive), lambda: Accuracy(100))
    assert [each.retained_bytes for each in report.findings] == [100]
    assert alive.facts["nbytes"] == 4096
