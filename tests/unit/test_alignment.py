# SPDX-License-Identifier: Apache-2.0
"""What collections cost each training step, per rank and if the ranks collected together."""

import gc
import json
import random

import pytest
from owners import Buffer, Node

import cyclewatch
from cyclewatch import _native
from cyclewatch.errors import ReportFormatError


def job(*pauses, steps=10, step_seconds=2.0):
    """A merged report: for each rank, the seconds of its collections by step."""
    with cyclewatch.watch(devices="cpu") as watch:
        document = json.loads(watch.report().to_json())
    reports = []
    for rank, by_step in enumerate(pauses):
        document["processes"][0]["rank"] = rank
        document["collection_steps"] = [columns(by_step, steps, step_seconds)]
        reports.append(_native.load_report(json.dumps(document).encode(), "test"))
    return cyclewatch.Report.merge(reports)


def columns(by_step, steps, step_seconds=2.0):
    return {
        "process": 0,
        "first_step": 0,
        "last_step": steps,
        "elapsed": steps * step_seconds,
        "every": 1,
        "shorter_than": 0.0,
        "steps": sorted(by_step),
        "seconds": [by_step[step] for step in sorted(by_step)],
        "freed_bytes": [0] * len(by_step),
    }


def recorded(report):
    return json.loads(report.to_json())["collection_steps"]


def test_ranks_that_collect_at_different_steps_wait_for_each():
    report = job({1: 3.0, 4: 1.0}, {2: 2.0}, {1: 0.5, 7: 1.0})
    # Slowest by step: 3, 2, 1 and 1. Together: max(3, 2, 1) + max(1, 0.5).
    assert report.alignment == pytest.approx({"cost": 0.7, "aligned": 0.4, "step": 2.0})
    text = " ".join(report.to_text().split())
    assert (
        "Collections cost 700 ms of each 2.0 s step, because the ranks collect at different steps "
        "and each waits for the others. At the same steps, they would cost 400 ms "
        "(cyclewatch.collect_at())."
    ) in text


def test_aligned_ranks_need_no_advice():
    report = job({5: 1.0}, {5: 1.1})
    assert report.alignment == pytest.approx({"cost": 0.11, "aligned": 0.11, "step": 2.0})
    assert "step; the ranks collect at the same steps." in " ".join(report.to_text().split())


def test_only_steps_of_all_ranks_are_compared():
    document = json.loads(job({1: 1.0}, {9: 1.0}).to_json())
    document["collection_steps"][1].update(first_step=5, elapsed=10.0)
    report = _native.load_report(json.dumps(document).encode(), "test")
    assert report.alignment == pytest.approx({"cost": 0.2, "aligned": 0.2, "step": 2.0})
    document["collection_steps"][0]["last_step"] = 5
    assert _native.load_report(json.dumps(document).encode(), "test").alignment is None


def test_one_process_has_no_alignment():
    report = job({1: 1.0})
    assert report.alignment is None
    assert "of each" not in report.to_text()


@pytest.mark.parametrize(
    "change",
    [{"seconds": []}, {"steps": [4, 1]}, {"every": 3}, {"every": 0}, {"process": 2}],
    ids=str,
)
def test_inconsistent_columns_are_refused(change):
    document = json.loads(job({1: 1.0, 4: 1.0}).to_json())
    document["collection_steps"][0].update(change)
    with pytest.raises(ReportFormatError, match="collection_steps|process"):
        _native.load_report(json.dumps(document).encode(), "test")


@pytest.mark.usefixtures("buffers_are_owners", "no_automatic_collection")
def test_collections_are_recorded_by_step():
    with cyclewatch.watch(devices="cpu", budget=1) as watch:
        gc.collect()  # before the first step
        watch.step(3)
        Node(Buffer(1000))
        gc.collect()
        gc.collect()
        watch.step(4)
        watch.step(5)
        gc.collect()
    (steps,) = recorded(watch.report())
    assert (steps["first_step"], steps["last_step"], steps["steps"]) == (3, 5, [3, 5])
    assert steps["freed_bytes"] == [1000, 0]
    assert 0 < sum(steps["seconds"]) < watch.report().stats.collection_seconds
    assert 0 < steps["elapsed"] < watch.report().stats.elapsed


@pytest.mark.usefixtures("no_automatic_collection")
def test_a_program_that_counts_again_starts_again():
    with cyclewatch.watch(devices="cpu") as watch:
        for step in [1, 2, 3, 2, 3]:  # a second caller counts from 0
            watch.step(step)
            gc.collect(0)
        assert recorded(watch.report())[0]["steps"] == [1, 2, 3]
        watch.step(0)
        watch.step(1)
        gc.collect(0)
    (steps,) = recorded(watch.report())
    assert (steps["first_step"], steps["last_step"], steps["steps"]) == (0, 1, [1])


@pytest.mark.usefixtures("no_automatic_collection")
def test_many_steps_are_sampled():
    with cyclewatch.watch(devices="cpu") as watch:
        for step in range(1100):
            watch.step(step)
            gc.collect(0)
    (steps,) = recorded(watch.report())
    assert len(steps["steps"]) <= 1000
    assert steps["every"] > 1 or steps["shorter_than"] > 0


def test_ranks_are_sampled_at_the_same_steps_and_the_estimate_remains():
    """Every rank pauses for 1 s in each step; every tenth step of one rank takes 3 s."""
    steps = 1600
    even = dict.fromkeys(range(steps), 1.0)
    uneven = {step: 3.0 if step % 10 == 0 else 1.0 for step in range(steps)}
    reports = [job(even, uneven, steps=steps)]
    first, second = recorded(reports[0])
    assert first["every"] == second["every"] == 2
    assert first["steps"] == second["steps"]
    assert 700 <= len(first["steps"]) <= 900
    assert reports[0].alignment["cost"] == pytest.approx(1.2, rel=0.1)


def test_short_collections_are_left_out_before_long_ones():
    long = dict.fromkeys(range(0, 2000, 100), 1.0)
    short = dict.fromkeys(range(2000), 0.001)
    document = recorded(job({**short, **long}, long, steps=2000))
    assert [each["steps"] for each in document] == [sorted(long)] * 2
    assert [each["shorter_than"] for each in document] == [0.01] * 2


def test_a_merged_report_of_many_ranks_is_small():
    ranks = 250
    generator = random.Random(1)
    pauses = {step: 0.5 + generator.random() for step in range(1000)}
    report = job(*[pauses] * ranks, steps=1000)
    assert sum(len(each["steps"]) for each in recorded(report)) <= 20_000
    assert report.alignment["cost"] == pytest.approx(report.alignment["aligned"])
