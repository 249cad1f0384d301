# SPDX-License-Identifier: Apache-2.0
"""One change in the code, one finding; and the bytes of findings that share memory."""

import functools
import gc

import pytest

import cyclewatch
from cyclewatch.cli.comparison import compare, kinds_by_signature


class Block:
    """Owns what the reader says."""

    __slots__ = ("__weakref__", "size")

    def __init__(self, size):
        """Own `size` bytes of nothing."""
        self.size = size


@pytest.fixture(autouse=True)
def block_is_an_owner():
    """Let every watch know the class, and nothing else be unreachable meanwhile."""
    gc.collect()
    cyclewatch.register_owner(
        Block, lambda block: {"device": "cpu", "nbytes": block.size, "data_ptr": id(block)}
    )
    yield
    cyclewatch.unregister_owner(Block)


class Metric:
    """Wraps a method of every subclass, once for each object."""

    def __init__(self, size):
        """Hold a block."""
        self.block = Block(size)
        self.update = self.wrapped(self.update)

    def wrapped(self, method):
        """Keep the bound method, and so the metric, in its own attribute."""

        @functools.wraps(method)
        def wrapper():
            return method()

        return wrapper

    def update(self):
        """Do nothing."""


class Accuracy(Metric):
    """One of several."""


class F1Score(Metric):
    """One of several."""


class Recall(Metric):
    """One of several."""


def report_of(*makers):
    """What a watch says when all that `makers` make is collected at once."""
    with cyclewatch.watch(devices=("cpu",)) as watch:
        for make in makers:
            make()
        gc.collect()
    return watch.report()


METRICS = [lambda: Accuracy(100), lambda: F1Score(300), lambda: Recall(200)]


def test_one_line_that_wraps_methods_of_several_classes_is_one_finding():
    (finding,) = report_of(*METRICS, lambda: F1Score(300)).findings
    assert [each.name for each in finding.variants] == ["F1Score", "Recall", "Accuracy"]
    assert [each.occurrences for each in finding.variants] == [2, 1, 1]
    assert (finding.retained_bytes, finding.occurrences) == (900, 4)
    assert set(finding.signatures) == {each.signature for each in finding.variants}
    assert finding.signature == min(finding.signatures)
    assert "    also  in Recall and Accuracy (2 cycles)" in finding.to_text()


def test_a_later_collection_joins_the_finding_under_its_signature():
    with cyclewatch.watch(devices=("cpu",)) as watch:
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


class Node:
    """Part of a cycle of its own."""

    def __init__(self, block):
        """Share a block."""
        self.me = self
        self.block = block


class Leaf(Node):
    """Part of another one."""

    def __init__(self, block):
        """Share a block."""
        self.itself = self
        self.block = block


def test_shared_bytes_are_named_ranked_and_added_up_once():
    def share():
        block = Block(4096)
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


def test_a_cycle_that_leads_only_to_what_is_alive_is_no_finding():
    alive = Block(4096)
    report = report_of(lambda: Node(alive))
    assert not report.findings
    report = report_of(lambda: Node(alive), lambda: Accuracy(100))
    assert [each.retained_bytes for each in report.findings] == [100]
    assert alive.size == 4096
