# SPDX-License-Identifier: Apache-2.0
"""watch(snapshot=...): torch records in a range of steps, and a snapshot is written."""

import logging
import os
import subprocess
import sys
import types

import pytest
from allocator import MIB, Allocator, frames
from owners import Buffer

import cyclewatch
from cyclewatch.snapshots import pickle_data
from cyclewatch.snapshots.allocator_state import Snapshot
from cyclewatch.watching import step_numbers

pytestmark = pytest.mark.usefixtures("buffers_are_owners", "no_automatic_collection")


@pytest.fixture
def device(monkeypatch, tmp_path):
    """Stands in for torch on a machine with a GPU; `calls` are those that switch the recording."""
    monkeypatch.chdir(tmp_path)
    allocator = Allocator()
    allocator.calls = []

    def record(enabled="all", **options):
        allocator.calls.append((enabled, options.get("max_entries")))

    cuda = types.ModuleType("torch.cuda")
    cuda._initialized = True
    cuda.is_initialized = lambda: cuda._initialized
    cuda.memory = types.ModuleType("torch.cuda.memory")
    cuda.memory._record_memory_history = record
    cuda.memory._snapshot = allocator.snapshot
    native = types.ModuleType("torch._C")
    native._cuda_isHistoryEnabled = lambda: bool(allocator.calls) and allocator.calls[-1][0]
    torch = types.ModuleType("torch")
    torch.Tensor, torch.cuda, torch._C = type("Tensor", (), {}), cuda, native
    for module in (torch, cuda, cuda.memory, native):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    yield allocator
    assert step_numbers.listeners == []


STARTED, STOPPED = ("all", 100_000), (None, None)


def written():
    with open("snapshot.pickle", "rb") as file:
        return Snapshot(pickle_data.load(file.read()), "snapshot.pickle")


def test_the_whole_run_is_recorded(device):
    with cyclewatch.watch(devices="cpu", snapshot="snapshot.pickle") as watch:
        assert device.calls == [STARTED]
        kept = Buffer(MIB, device="cuda:0", data_ptr=device.malloc(MIB, frames("a.py:1 f")))
        assert watch.snapshot_path is None
    assert kept.facts
    assert device.calls == [STARTED, STOPPED]
    assert watch.snapshot_path == os.path.abspath("snapshot.pickle")
    snapshot = written()
    [owner] = {block.owner for block in snapshot.segments[0].blocks if block.owner}
    assert owner.text.endswith("local kept (other)")
    assert [event.action for event in snapshot.events(0)] == ["segment_alloc", "alloc"]


def test_only_the_steps_are_recorded(device):
    calls = {}
    with cyclewatch.watch(devices="cpu", snapshot="snapshot.pickle", steps=(2, 3)) as watch:
        for step in range(6):
            watch.step(step)
            calls[step] = list(device.calls), os.path.exists("snapshot.pickle")
        device.malloc(MIB)  # too late
    assert calls[1] == ([], False)
    assert calls[2] == calls[3] == ([STARTED], False)
    assert calls[4] == calls[5] == ([STARTED, STOPPED], True)
    assert written().segments == []


def test_a_collector_sets_the_step(device):
    with (
        cyclewatch.watch(devices="cpu", snapshot="snapshot.pickle", steps=(2, 2)) as watch,
        cyclewatch.collect_at() as collector,
    ):
        step_numbers.notify(2, counted=True)
        collector.run(1)
        step_numbers.notify(3, counted=True)  # the program's number takes precedence
        assert device.calls == [STARTED]
        collector.run(2)
        assert device.calls == [STARTED]
        collector.run(3)
        assert watch.snapshot_path is not None


def test_steps_that_were_not_reached_write_nothing(device):
    with cyclewatch.watch(devices="cpu", snapshot="snapshot.pickle", steps=(10, 15)) as watch:
        watch.step(9)
    assert device.calls == []
    assert watch.snapshot_path is None
    assert os.listdir() == []


def test_a_file_that_cannot_be_written_is_logged(device, caplog):
    caplog.set_level(logging.WARNING, "cyclewatch")
    with cyclewatch.watch(devices="cpu", snapshot="missing/snapshot.pickle") as watch:
        pass
    assert watch.snapshot_path is None
    assert device.calls == [STARTED, STOPPED]
    [record] = caplog.records
    assert record.getMessage().startswith("no memory snapshot: ")


def test_a_child_writes_nothing(device):
    with cyclewatch.watch(devices="cpu", snapshot="snapshot.pickle") as watch:
        child = os.fork()
        if child == 0:
            watch.stop()
            os._exit(os.path.exists("snapshot.pickle"))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert os.path.exists("snapshot.pickle")


def test_a_path_is_expected():
    with pytest.raises(TypeError):
        cyclewatch.watch(snapshot=5)


PROGRAM = """
import sys, types
from allocator import Allocator
import cyclewatch

allocator = Allocator()
calls = []
cuda = types.ModuleType("torch.cuda")
cuda._initialized = False
cuda.is_initialized = lambda: cuda._initialized
cuda.memory = types.ModuleType("torch.cuda.memory")
cuda.memory._record_memory_history = lambda enabled="all", **_: calls.append(enabled)
cuda.memory._snapshot = allocator.snapshot
native = types.ModuleType("torch._C")
native._cuda_isHistoryEnabled = lambda: bool(calls) and calls[-1]
torch = types.ModuleType("torch")
torch.Tensor, torch.cuda, torch._C = type("Tensor", (), {}), cuda, native
for module in (torch, cuda, cuda.memory, native):
    sys.modules[module.__name__] = module
cuda._initialized = sys.argv[1] == "cuda"
with cyclewatch.collect_at() as collector:
    for step in range(6):
        collector.run(step)
        print(step, len(calls), end=";")
allocator.malloc(5000)
"""


def run_program(tmp_path, *arguments):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    path = os.pathsep.join([os.path.dirname(__file__), os.path.dirname(cyclewatch.__path__[0])])
    options, device = arguments[:-1], arguments[-1]
    return subprocess.run(
        [sys.executable, "-m", "cyclewatch", "run", "--snapshot", *options, str(program), device],
        env={**os.environ, "PYTHONPATH": path, "RANK": "3"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )


@pytest.mark.usefixtures("installation")
def test_run_writes_a_snapshot_at_exit(tmp_path):
    outcome = run_program(tmp_path, "cuda")
    [path] = tmp_path.glob("cyclewatch-program-rank3-*.pickle")
    assert outcome.stderr.splitlines()[-1] == f"memory snapshot: {path} (cyclewatch snapshot)"
    snapshot = Snapshot(pickle_data.load(path.read_bytes()), "x")
    assert [segment.size for segment in snapshot.segments] == [2 * MIB]


@pytest.mark.usefixtures("installation")
def test_run_records_only_some_steps(tmp_path):
    outcome = run_program(tmp_path, "-o", "out.html", "--steps", "2:3", "cuda")
    assert outcome.stdout == "0 0;1 0;2 1;3 1;4 2;5 2;"
    snapshot = Snapshot(pickle_data.load((tmp_path / "out-rank3.pickle").read_bytes()), "x")
    assert snapshot.segments == []


@pytest.mark.usefixtures("installation")
def test_run_without_a_device_says_why_there_is_no_snapshot(tmp_path):
    outcome = run_program(tmp_path, "cpu")
    assert outcome.stderr.splitlines()[-1] == (
        "cyclewatch[rank 3]: no memory snapshot: the program has not initialized CUDA with torch"
    )
    assert not list(tmp_path.glob("*.pickle"))
