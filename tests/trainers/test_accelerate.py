# SPDX-License-Identifier: Apache-2.0
"""CycleWatch in training loops that use accelerate."""

import gc
import json
import logging

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
accelerate = pytest.importorskip("accelerate", reason="needs requirements-trainers.txt")

import cyclewatch  # noqa: E402
from cyclewatch.integrations.accelerate import CycleWatch  # noqa: E402


class Tracker(accelerate.tracking.GeneralTracker):
    """A logger of the program."""

    name = "recorder"
    requires_logging_directory = False
    tracker = None

    def __init__(self):
        super().__init__()
        self.rows = []

    def log(self, values, step=None, **_):
        self.rows.append((step, values))


@pytest.fixture
def tracker():
    return Tracker()


@pytest.fixture
def accelerator(tracker):
    made = accelerate.Accelerator(cpu=True, log_with=tracker)
    made.init_trackers("test")
    yield made
    accelerate.state.AcceleratorState._reset_state(reset_partial_state=True)


def train(watch, steps=4, leak=True, fail=None):
    for step in range(1, steps + 1):
        cycle = [torch.zeros(256)]
        if leak:
            cycle.append(cycle)
        del cycle
        watch.step(step)
        if fail is not None and step == 2:
            raise fail


def test_scans_while_collection_is_off_and_logs_the_metrics(accelerator, tracker, reports):
    gc.disable()
    with (
        pytest.warns(cyclewatch.TensorCycleWarning),
        CycleWatch(accelerator, log_every=2, devices="cpu", formats="json", budget=1) as watch,
    ):
        train(watch)
    assert [step for step, _ in tracker.rows] == [2, 4]
    assert [row["cyclewatch/dead_bytes"] for _, row in tracker.rows] == [2048, 4096]
    assert reports()[0].findings[0].occurrences == 4
    assert cyclewatch.metrics() == {}


@pytest.mark.filterwarnings("ignore::cyclewatch.TensorCycleWarning")
def test_a_block_inside_the_same_block_does_not_end_its_watch(accelerator, reports):
    gc.disable()
    watch = CycleWatch(accelerator, devices="cpu", formats="json", budget=1)
    with watch:
        train(watch)
        with watch:
            train(watch)
        train(watch)
    assert cyclewatch.metrics() == {}
    (report,) = reports()
    assert report.findings[0].occurrences == 12


def test_no_metrics_are_logged_with_log_every_0(accelerator, tracker):
    with CycleWatch(accelerator, log_every=0, devices="cpu") as watch:
        train(watch, leak=False)
    assert tracker.rows == []


@pytest.mark.filterwarnings("ignore::cyclewatch.TensorCycleWarning")
def test_a_failing_block_ends_the_watch(accelerator, tmp_path, caplog):
    caplog.set_level(logging.INFO, "cyclewatch")
    error = MemoryError("no memory left")
    with pytest.raises(MemoryError) as caught, CycleWatch(accelerator, devices="cpu") as watch:
        train(watch, fail=error)
    assert cyclewatch.metrics() == {}
    assert caught.value.__notes__[0].startswith("cyclewatch: out of memory")
    assert list(tmp_path.glob("cyclewatch-*-oom.txt"))


def test_invalid_arguments(accelerator):
    with pytest.raises(ValueError, match="log_every must be an integer from 0"):
        CycleWatch(accelerator, log_every=-1)


def test_two_processes_write_their_reports_and_the_main_one_logs(run_program, reports, tmp_path):
    run_program("accelerate_ranks.py", ranks=2)
    ranks = [[process.rank for process in report.processes] for report in reports("reports")]
    assert sorted(ranks) == [[0], [0, 1], [1]]  # that of both ranks is merged at exit
    rows = {rank: json.loads((tmp_path / f"rows-{rank}.json").read_text()) for rank in range(2)}
    assert [step for step, _ in rows[0]] == [2, 4]
    assert rows[1] == []
