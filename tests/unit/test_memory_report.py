# SPDX-License-Identifier: Apache-2.0
"""The accounts and the memory over the steps in reports."""

import contextlib
import gc
import json
import os
import subprocess
import sys
import sysconfig
import time
import warnings
from pathlib import Path

import pytest
from owners import Buffer

import cyclewatch
from cyclewatch import _native

pytestmark = pytest.mark.usefixtures("buffers_are_owners", "no_automatic_collection")

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "report.json"


def leak(size):
    buffer = Buffer(size)
    buffer.me = buffer


def data_of(watch):
    return json.loads(watch.report().to_json())


def test_a_report_has_the_account_that_the_program_asked_for():
    kept = Buffer(1000)
    leak(500)
    with cyclewatch.watch(devices="cpu") as watch:
        watch.step(7)
        account = cyclewatch.memory("cpu")
    assert kept.facts
    [stored] = data_of(watch)["memory"]
    assert (stored["device"], stored["occasion"], stored["step"]) == ("cpu", "request", 7)
    assert stored["headline"] == account.verdict
    assert [(line["use"], line["bytes"]) for line in stored["lines"]] == account.lines
    assert sum(line["bytes"] for line in stored["lines"]) == stored["in_use"] == account.in_use
    assert {"kind": "dead", "use": "dead in 1 cycle (a collection frees them)", "bytes": 500} in (
        stored["lines"]
    )
    assert stored["signatures"] == [each.signature for each in account.findings]
    assert [each["bytes"] for each in stored["holders"]] == [
        each.nbytes for each in account.holders
    ]


def test_a_report_without_account_and_steps_does_not_have_the_fields():
    with cyclewatch.watch(devices="cpu") as watch:
        pass
    cyclewatch.memory("cpu")
    assert not {"memory", "memory_steps"} & data_of(watch).keys()


def test_an_out_of_memory_error_leaves_its_account_beside_a_later_one(tmp_path):
    with cyclewatch.watch(devices="cpu") as watch:
        with pytest.raises(MemoryError), cyclewatch.oom_autopsy(report_dir=tmp_path):
            raise MemoryError
        cyclewatch.memory("cpu")
    occasions = [each["occasion"] for each in data_of(watch)["memory"]]
    assert sorted(occasions) == ["out of memory", "request"]


def test_steps_have_the_counters_and_the_categories_of_censuses():
    kept = [Buffer(1000)]
    with cyclewatch.watch(devices="cpu", census_every=2, budget=1, scan_every=1) as watch:
        leak(500)
        for step in range(10, 14):
            watch.step(step)
            kept.append(Buffer(1000))
    [steps] = data_of(watch)["memory_steps"]
    assert steps["device"] == "cpu"
    columns = [steps[name] for name in ("steps", "times", "in_use", "allocated", "dead")]
    assert len({len(column) for column in columns}) == 1
    assert steps["steps"][0] == 10
    assert steps["times"] == sorted(steps["times"])
    assert all(size > 1 << 20 for size in steps["in_use"])
    assert steps["dead"][0] == 500  # found by the scan of the step
    assert "peak" not in steps  # torch counts it for CUDA devices only
    assert [each["step"] for each in steps["censuses"]] == [11, 13]
    first, last = (each["other"] for each in steps["censuses"])
    assert last - first == 2000


def samples_once(watch, condition):
    """The samples of the CPU once there are some that fulfill the condition."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        for samples in data_of(watch).get("memory_samples", ()):
            if condition(samples):
                return samples
    pytest.fail("no such samples after a minute")


def of_malloc(condition):
    """Skip if a read of the heap took too long, so that resident memory is sampled instead."""

    def checked(samples):
        if samples["source"] != "allocated with malloc()":
            pytest.skip("the machine is too busy, or the heap too fragmented, to sample malloc()")
        return condition(samples)

    return checked


@pytest.mark.skipif(
    sysconfig.get_config_var("Py_GIL_DISABLED") == 1,
    reason="free-threaded builds do not allocate objects with malloc()",
)
def test_samples_show_what_was_allocated_and_freed(tmp_path):
    with cyclewatch.warn_tensor_cycles(devices="cpu", report_dir=tmp_path) as watch:
        samples = samples_once(watch, of_malloc(lambda _: True))
        before = samples["highest"][-1]
        kept = [bytearray(512 << 20)]
        samples = samples_once(
            watch, of_malloc(lambda each: each["highest"][-1] >= before + (512 << 20))
        )
        kept.clear()
        samples = samples_once(
            watch, of_malloc(lambda each: each["lowest"][-1] < before + (256 << 20))
        )
    assert (samples["device"], samples["source"]) == ("cpu", "allocated with malloc()")
    assert samples["times"] == sorted(samples["times"])
    assert all(low <= high for low, high in zip(samples["lowest"], samples["highest"], strict=True))


def threads():
    """The number of sampling threads; others of the process may end at any time."""

    def name(thread):
        with contextlib.suppress(OSError):  # has ended meanwhile
            return thread.joinpath("comm").read_text().strip()

    return [name(thread) for thread in Path("/proc/self/task").iterdir()].count("cyclewatch/use")


def test_only_a_watch_with_report_files_has_a_thread_for_samples(tmp_path):
    before = threads()
    with cyclewatch.watch(devices="cpu"):
        assert threads() == before
    with cyclewatch.warn_tensor_cycles(devices="cpu", report_dir=tmp_path):
        assert threads() == before + 1
    _native.before_fork()
    try:
        assert threads() == before
        with cyclewatch.warn_tensor_cycles(devices="cpu", report_dir=tmp_path):
            assert threads() == before
    finally:
        _native.after_fork_in_parent()


def test_samples_continue_in_the_parent_of_a_fork_and_not_in_the_child(tmp_path):
    before = threads()
    with (
        cyclewatch.warn_tensor_cycles(devices="cpu", report_dir=tmp_path) as watch,
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("error")  # CPython warns of a fork if there are threads
        gc.disable()  # a collection would start the thread again
        child = os.fork()
        if child == 0:
            os._exit(threads())
        after_fork = threads()
        gc.enable()
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 0
        assert after_fork == before
        gc.collect(0)
        last = samples_once(watch, lambda _: True)["times"][-1]
        samples_once(watch, lambda each: each["times"][-1] > last)


def test_merged_reports_keep_the_process_of_each_account():
    def of_process(pid):
        data = json.loads(GOLDEN.read_text())
        data["processes"][0]["pid"] = pid
        account = dict.fromkeys(("process", "at", "in_use", "total", "peak"), 0)
        account |= dict.fromkeys(("lines", "signatures", "holders", "notes"), ())
        account |= {"device": "cpu", "occasion": "end", "step": -1, "source": "", "headline": ""}
        data["memory"] = [account | {"in_use": pid}]
        columns = dict.fromkeys(("steps", "times", "in_use", "allocated", "dead"), [1, 2])
        data["memory_steps"] = [{"process": 0, "device": "cpu", "censuses": [], **columns}]
        columns = dict.fromkeys(("times", "lowest", "highest"), [pid, pid + 1])
        samples = {"process": 0, "device": "cpu", "source": "resident memory", **columns}
        data["memory_samples"] = [samples]
        return data

    def load(data):
        return _native.load_report(json.dumps(data).encode(), "test")

    merged = cyclewatch.Report.merge([load(of_process(pid)) for pid in (2, 1)])
    data = json.loads(merged.to_json())
    pids = [process["pid"] for process in data["processes"]]
    assert [pids[each["process"]] for each in data["memory"]] == [
        each["in_use"] for each in data["memory"]
    ]
    assert [each["process"] for each in data["memory_steps"]] == [0, 1]
    assert data["memory_steps"][1]["steps"] == [1, 2]
    assert [each["lowest"] for each in data["memory_samples"]] == [[pid, pid + 1] for pid in pids]
    broken = of_process(1)
    broken["memory_samples"][0]["lowest"] = [1]
    with pytest.raises(ValueError, match="memory_samples: columns of different lengths"):
        load(broken)
    broken = of_process(1)
    broken["memory_steps"][0]["dead"] = [1]
    with pytest.raises(ValueError, match="memory_steps: columns of different lengths"):
        load(broken)
    broken = of_process(1)
    broken["memory_steps"][0]["peak"] = [1]
    with pytest.raises(ValueError, match="memory_steps: columns of different lengths"):
        load(broken)


def test_cyclewatch_run_records_the_account_at_the_end(installation, tmp_path):
    report = tmp_path / "report.json"
    words = ["run", "--devices", "cpu", "--quiet", "-o", str(report), "-c", "kept = bytearray(9)"]
    subprocess.run([sys.executable, "-m", "cyclewatch", *words], check=True, cwd=tmp_path)
    [account] = json.loads(report.read_text())["memory"]
    assert (account["occasion"], account["device"]) == ("end", "cpu")
    assert sum(line["bytes"] for line in account["lines"]) == account["in_use"]
