# SPDX-License-Identifier: Apache-2.0
"""Reports as values: what they say of processes and steps, and how several become one."""

import copy
import gc
import json
import pickle

import pytest

import cyclewatch


class Block:
    """Owns what the reader says, and may be part of a cycle."""

    __slots__ = ("__weakref__", "other", "size")

    def __init__(self, size):
        """Own `size` bytes of nothing."""
        self.size = size
        self.other = self


@pytest.fixture(autouse=True)
def block_is_an_owner():
    """Let every watch know the class, and nothing else be unreachable meanwhile."""
    gc.collect()
    cyclewatch.register_owner(
        Block, lambda block: {"device": "cpu", "nbytes": block.size, "data_ptr": id(block)}
    )
    yield
    cyclewatch.unregister_owner(Block)


def report_of(*sizes, steps=()):
    """What a watch says of one cycle of each size, one collection each."""
    with cyclewatch.watch(devices=("cpu",)) as watch:
        for number, size in enumerate(sizes):
            if steps:
                watch.step(steps[number])
            Block(size)
            gc.collect()
    return watch.report()


def as_other_process(report, rank, tmp_path):
    """The same report as another process would have written it."""
    document = json.loads(report.to_json())
    document["processes"][0].update(rank=rank, pid=4000 + rank)
    path = tmp_path / f"rank{rank}.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return cyclewatch.Report.load(path)


def test_finding_says_at_which_step_it_was_first_seen():
    report = report_of(100, 50, steps=(7, 8))
    assert [collection.step for collection in report.collections] == [7, 8]
    [occurrences] = report.findings[0].by_process
    assert (occurrences.process, occurrences.occurrences, occurrences.retained_bytes) == (0, 2, 150)
    assert occurrences.first_step == 7
    assert occurrences.first_seen == report.findings[0].first_seen


def test_step_is_unknown_until_the_program_tells_one():
    report = report_of(100)
    assert report.collections[0].step is None
    assert report.findings[0].by_process[0].first_step is None


def test_byte_seconds_are_bytes_times_the_longest_wait():
    report = report_of(1000)
    finding = report.findings[0]
    assert finding.byte_seconds == pytest.approx(1000 * finding.dead_for_at_most)
    assert finding.byte_seconds > 0


def test_collection_tells_the_memory_in_use_around_it():
    [memory] = report_of(100).collections[0].device_memory
    assert (memory.device, memory.source) == ("cpu", "process")
    assert 0 < memory.used_after < memory.total
    assert 0 < memory.used_before < memory.total


def test_live_report_is_of_one_process():
    report = report_of(100)
    [process] = report.processes
    assert process.rank is None
    assert report.collections[0].process == 0
    assert report.findings[0].status == "new"
    assert report.findings[0].verdict == report.findings[0].note == ""


def test_merged_report_has_occurrences_by_process(tmp_path):
    one = as_other_process(report_of(100, 200), 0, tmp_path)
    two = as_other_process(report_of(1000), 1, tmp_path)
    whole = cyclewatch.Report.merge([two, one])
    assert [process.rank for process in whole.processes] == [0, 1]
    [finding] = whole.findings
    assert finding.retained_bytes == whole.retained_bytes == 1300
    assert [occurrences.retained_bytes for occurrences in finding.by_process] == [300, 1000]
    assert "2 processes" in repr(whole)
    assert "2 processes" in whole.to_text()
    assert "ranks 0 to 1" in whole.to_html()


def test_merging_needs_reports():
    with pytest.raises(ValueError, match="no reports to merge"):
        cyclewatch.Report.merge([])
    with pytest.raises(TypeError):
        cyclewatch.Report.merge([None])


def test_an_endless_device_is_no_report():
    with pytest.raises(cyclewatch.ReportFormatError, match="/dev/zero: .* larger than 256 MiB"):
        cyclewatch.Report.load("/dev/zero")


@pytest.mark.parametrize(
    ("step", "error", "message"),
    [
        ("7", TypeError, "expects an integer, not '7'"),
        (1.5, TypeError, "expects an integer, not 1.5"),
        (-1, ValueError, "must be from 0 to .*, not -1"),
        (-(2**70), ValueError, "must be from 0 to"),
        (2**63, ValueError, "must be from 0 to"),
    ],
)
def test_invalid_step_is_rejected(step, error, message):
    with cyclewatch.watch(devices=("cpu",)) as watch, pytest.raises(error, match=message):
        watch.step(step)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_native_objects_cannot_be_pickled(protocol):
    report = report_of(8)
    for value in (report, report.findings[0], report.findings[0].cuts[0], report.processes[0]):
        with pytest.raises(TypeError, match=r"use Report.save\(\)"):
            pickle.dumps(value, protocol)
        for reduced in (value.__reduce__, lambda value=value: value.__reduce_ex__(protocol)):
            with pytest.raises(TypeError, match=type(value).__name__):
                reduced()
        with pytest.raises(TypeError, match="copy"):
            copy.copy(value)
