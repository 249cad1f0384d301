# SPDX-License-Identifier: Apache-2.0
"""Traces in Chrome's format: Report.save("x.trace.json") and `cyclewatch convert --into`."""

import gc
import gzip
import json
import os
import subprocess
import sys
import time

import pytest
from owners import Buffer

import cyclewatch


class Trainer:
    def __init__(self, nbytes):
        self.buffer = Buffer(nbytes=nbytes)
        self.me = self


@pytest.fixture
def recorded(buffers_are_owners, no_automatic_collection):
    """The report of a scan and of a collection in step 3, and the times around both."""
    times = [time.time_ns()]
    with cyclewatch.watch(devices="cpu", budget=1) as watch:
        Trainer(1000)
        watch.step(3)
        Trainer(3000)
        gc.collect()
        times.append(time.time_ns())
    return watch.report(), times


@pytest.fixture
def trace(recorded, tmp_path):
    report, _ = recorded
    report.save(tmp_path / "x.trace.json")
    return json.loads((tmp_path / "x.trace.json").read_text())


def slices(trace):
    return [event for event in trace["traceEvents"] if event.get("cat") == "cyclewatch"]


def counter(trace, name):
    return [event["args"] for event in trace["traceEvents"] if event["name"] == name]


def test_each_collection_and_scan_is_a_slice(trace, recorded):
    report, _ = recorded
    assert len(slices(trace)) == len(report.collections)
    last = slices(trace)[-1]
    collection = report.collections[-1]
    assert last["ph"] == "X"
    assert last["name"] == "collection of generation 2: 3.9 KiB in 1 finding"
    assert last["dur"] == pytest.approx(collection.duration * 1e6, abs=0.01)
    assert last["args"]["step"] == 3
    [finding] = report.findings
    assert last["args"]["finding 1"].startswith(f"{finding.signature}: 2.9 KiB, {finding.title};")
    assert slices(trace)[0]["name"].startswith("scan: ")


def test_times_are_those_of_the_machine_s_clock(trace, recorded):
    _, (before, after) = recorded
    for event in slices(trace):
        start = trace["baseTimeNanoseconds"] + event["ts"] * 1000
        # The report stores the start of the watch in milliseconds.
        assert before - 1_000_000 <= start
        assert start + event["dur"] * 1000 <= after + 1_000_000


def test_counters_show_dead_and_allocated_memory(trace, recorded):
    report, _ = recorded
    first, last = report.collections
    assert (first.scan, last.scan) == (True, False)
    dead = [each["bytes"] for each in counter(trace, "tensors found dead")]
    assert dead == [1000, 4000, 0]
    [memory] = last.device_memory
    allocated = [each["allocated"] for each in counter(trace, "memory of cpu")]
    assert allocated[-2:] == [memory.used_before, memory.used_after]


def test_collection_that_frees_only_what_scans_have_found_is_a_slice(
    buffers_are_owners, no_automatic_collection, tmp_path
):
    with cyclewatch.watch(devices="cpu", budget=1) as watch:
        for step in range(2):
            Trainer(1000)
            watch.step(step)
        gc.collect()
    watch.report().save(tmp_path / "x.trace.json")
    trace = json.loads((tmp_path / "x.trace.json").read_text())
    assert slices(trace)[-1]["name"] == "collection of generation 2: 2.0 KiB freed"
    assert [each["bytes"] for each in counter(trace, "tensors found dead")] == [1000, 2000, 2000, 0]


class Other(Trainer):
    pass


def test_dead_memory_stays_on_the_counter_until_it_is_freed(
    buffers_are_owners, no_automatic_collection, tmp_path
):
    with cyclewatch.watch(devices="cpu", budget=1) as watch:
        for step, kind in enumerate((Trainer, Trainer, Other)):
            kind(1000)
            watch.step(step)
        before = watch.report()
        Trainer(500)
        gc.collect()
    before.save(tmp_path / "before.trace.json")
    trace = json.loads((tmp_path / "before.trace.json").read_text())
    assert [each["bytes"] for each in counter(trace, "tensors found dead")] == [1000, 2000, 3000]
    watch.report().save(tmp_path / "x.trace.json")
    trace = json.loads((tmp_path / "x.trace.json").read_text())
    dead = [each["bytes"] for each in counter(trace, "tensors found dead")]
    assert dead == [1000, 2000, 3000, 3500, 0]


def test_processes_with_the_same_id_have_their_own_tracks(recorded, tmp_path):
    report, _ = recorded
    documents = [json.loads(report.to_json()) for _ in range(2)]
    for rank, document in enumerate(documents):
        document["processes"][0].update(rank=rank, host=str(rank))
        (tmp_path / f"rank{rank}.json").write_text(json.dumps(document))
    ranks = [cyclewatch.Report.load(tmp_path / f"rank{rank}.json") for rank in range(2)]
    both = cyclewatch.Report.merge(ranks)
    both.save(tmp_path / "x.trace.json")
    trace = json.loads((tmp_path / "x.trace.json").read_text())
    names = {
        event["pid"]: event["args"]["name"]
        for event in trace["traceEvents"]
        if event["name"] == "process_name"
    }
    assert [name.split("(")[1].split(",")[0] for name in names.values()] == ["rank 0", "rank 1"]
    assert {event["pid"] for event in slices(trace)} == set(names)
    # A torch trace is of one rank.
    pid = report.processes[0].pid
    profiled = torch_trace(pid, 0) | {"distributedInfo": {"rank": 1}}
    both.save(tmp_path / "both.json")
    (tmp_path / "t.json").write_text(json.dumps(profiled))
    command = [sys.executable, "-m", "cyclewatch", "convert", "--into", "t.json", "both.json"]
    subprocess.run(command, cwd=tmp_path, check=True)
    merged = json.loads((tmp_path / "t.cyclewatch.json").read_text())
    assert len(slices(merged)) == len(ranks[1].collections)
    assert {event["pid"] for event in merged["traceEvents"]} == {pid}


def test_thread_and_process_have_names(trace, recorded):
    report, _ = recorded
    names = {
        event["name"]: event["args"]["name"] for event in trace["traceEvents"] if event["ph"] == "M"
    }
    assert names["thread_name"] == "garbage collection (cyclewatch)"
    assert f"process {report.processes[0].pid}" in names["process_name"]


@pytest.fixture
def convert(recorded, tmp_path):
    report, _ = recorded
    report.save(tmp_path / "report.json")

    def run(*options, status=0):
        command = [sys.executable, "-m", "cyclewatch", "convert", *options, "report.json"]
        outcome = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert outcome.returncode == status, outcome.stderr
        return outcome.stdout + outcome.stderr

    return run


def torch_trace(pid, base):
    return {
        "schemaVersion": 1,
        "baseTimeNanoseconds": base,
        "traceEvents": [
            {
                "ph": "X",
                "cat": "cpu_op",
                "name": "aten::add",
                "pid": pid,
                "tid": pid,
                "ts": 1.0,
                "dur": 2.0,
            }
        ],
    }


@pytest.mark.parametrize("suffix", ["json", "json.gz"])
def test_merged_trace_has_the_base_of_the_torch_trace(convert, recorded, tmp_path, suffix):
    report, (before, after) = recorded
    opened = gzip.open if suffix.endswith("gz") else open
    base = before - 5_000_000_000
    with opened(tmp_path / f"t.{suffix}", "wt") as file:
        json.dump(torch_trace(report.processes[0].pid, base), file)
    assert convert("--into", f"t.{suffix}") == f"t.cyclewatch.{suffix}\n"
    with opened(tmp_path / f"t.cyclewatch.{suffix}", "rt") as file:
        trace = json.load(file)
    assert trace["traceEvents"][0]["name"] == "aten::add"
    assert len(slices(trace)) == len(report.collections)
    for event in slices(trace):
        assert before - 1_000_000 <= base + event["ts"] * 1000 <= after
    assert "process_name" not in {event["name"] for event in trace["traceEvents"]}


def test_trace_of_another_run_is_refused(convert, tmp_path):
    (tmp_path / "t.json").write_text(json.dumps(torch_trace(1, 0)))
    assert "t.json is the trace of another run" in convert("--into", "t.json", status=3)
    assert not (tmp_path / "t.cyclewatch.json").exists()


@pytest.mark.parametrize(
    "text", ["[]", "{}", "{", '{"traceEvents": [], "baseTimeNanoseconds": "a"}']
)
def test_other_files_are_refused(convert, tmp_path, text):
    (tmp_path / "t.json").write_text(text)
    assert "t.json is not a trace of torch.profiler: " in convert("--into", "t.json", status=3)


def test_missing_trace_is_named(convert):
    message = convert("--into", "none.json", status=3)
    assert f"cannot read none.json: {os.strerror(2)}" in message


PROFILED = """
import gc, sys, torch, cyclewatch
from torch._C._profiler import _ExperimentalConfig

class Node:
    def __init__(self):
        self.me = self
        self.data = torch.ones(1000)

gc.disable()
config = _ExperimentalConfig(record_python_gc_info=True)
with cyclewatch.watch(devices="cpu", budget=1) as watch:
    with torch.profiler.profile(with_stack=True, experimental_config=config) as profile:
        for step in range(3):
            Node()
            gc.collect()
profile.export_chrome_trace("torch.json")
watch.report().save("report.json")
"""


def test_slices_agree_with_those_of_torch(torch_interpreter, tmp_path):
    """torch's profiler can record collections too, with its own clock."""
    program = tmp_path / "profiled.py"
    program.write_text(PROFILED)
    torch_interpreter.run(program, cwd=tmp_path)
    command = [sys.executable, "-m", "cyclewatch", "convert", "--into", "torch.json", "report.json"]
    subprocess.run(command, cwd=tmp_path, check=True)
    trace = json.loads((tmp_path / "torch.cyclewatch.json").read_text())
    ours = [event["ts"] for event in slices(trace)]
    theirs = [event["ts"] for event in trace["traceEvents"] if event["name"] == "Python GC"]
    assert len(ours) == 3
    for start in ours:
        assert min(abs(start - each) for each in theirs) < 2000, (ours, theirs)
