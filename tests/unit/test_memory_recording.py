# SPDX-License-Identifier: Apache-2.0
"""record_history: starts and stops recordings; reports show the call stacks of allocations."""

import gc
import html
import sys
import tracemalloc
import types

import pytest
from owners import Buffer, Node

import cyclewatch
from cyclewatch.watching.memory_recording import MemoryRecorder

pytestmark = pytest.mark.usefixtures("buffers_are_owners", "no_automatic_collection")


class Torch:
    """Stands in for torch on a machine with a GPU."""

    def __init__(self, monkeypatch, initialized, available=True):
        self.recording = False
        self.calls = []
        self.cuda = types.ModuleType("torch.cuda")
        self.cuda._initialized = initialized
        self.cuda.is_available = lambda: available
        self.cuda.memory = types.ModuleType("torch.cuda.memory")
        self.cuda.memory._record_memory_history = self.record
        native = types.ModuleType("torch._C")
        native._cuda_isHistoryEnabled = lambda: self.recording
        torch = types.ModuleType("torch")
        torch.Tensor, torch.cuda, torch._C = type("Tensor", (), {}), self.cuda, native
        for module in (torch, self.cuda, self.cuda.memory, native):
            monkeypatch.setitem(sys.modules, module.__name__, module)

    def record(self, enabled="all", **options):
        self.calls.append((enabled, options.get("max_entries")))
        self.recording = enabled is not None


@pytest.fixture
def no_tracing():
    """tracemalloc is off before and after the test."""
    assert not tracemalloc.is_tracing()
    yield
    tracing = tracemalloc.is_tracing()
    tracemalloc.stop()
    assert not tracing


def make_leak():
    Node(Buffer(1024))


def test_history_starts_once_cuda_is_initialized(monkeypatch, no_tracing):
    torch = Torch(monkeypatch, initialized=False)
    callbacks = list(gc.callbacks)
    recorder = MemoryRecorder(5000, ["auto"])
    gc.collect()
    assert torch.calls == []
    torch.cuda._initialized = True
    gc.collect()
    assert torch.calls == [("all", 5000)]
    assert gc.callbacks == callbacks
    recorder.stop()
    recorder.stop()
    assert torch.calls == [("all", 5000), (None, None)]


def test_history_of_the_program_is_not_changed(monkeypatch, no_tracing):
    torch = Torch(monkeypatch, initialized=True)
    torch.recording = True
    MemoryRecorder(5000, ["cuda"]).stop()
    assert torch.calls == []
    assert torch.recording


@pytest.mark.parametrize("devices", [["auto"], ["cpu"]])
def test_tracemalloc_without_a_usable_gpu(monkeypatch, no_tracing, devices):
    Torch(monkeypatch, initialized=False, available=False)
    recorder = MemoryRecorder(100_000, devices)
    assert tracemalloc.get_traceback_limit() == 100
    recorder.stop()
    assert not tracemalloc.is_tracing()


def test_tracing_of_the_program_is_not_changed():
    tracemalloc.start(3)
    try:
        with cyclewatch.watch(devices="cpu", budget=1, record_history=10) as watch:
            make_leak()
            gc.collect()
        assert tracemalloc.get_traceback_limit() == 3
    finally:
        tracemalloc.stop()
    assert len(watch.report().findings[0].owners[0].allocation_stack) == 3


def test_reports_show_the_call_stack(no_tracing):
    with cyclewatch.watch(devices="cpu", budget=1, record_history=4) as watch:
        make_leak()
        gc.collect()
    report = watch.report()
    [finding] = report.findings
    [owner] = finding.owners
    stack = owner.allocation_stack
    assert len(stack) == 4
    line = make_leak.__code__.co_firstlineno + 1
    assert stack[0] == owner.allocated_at == f"{__file__}:{line}"
    caller = test_reports_show_the_call_stack.__code__.co_firstlineno + 2
    assert stack[1] == f"{__file__}:{caller}"
    assert (
        cyclewatch._native.load_report(report.to_json().encode(), "x")
        .findings[0]
        .owners[0]
        .allocation_stack
        == stack
    )
    assert "allocated in calls from" in finding.to_text(width=400)
    assert f":{caller}" in finding.to_text(width=400)
    assert len(finding.to_text().splitlines()) <= 25
    shown = "\n".join(stack)
    assert f"allocated at\n{html.escape(shown)}</title>" in finding.to_svg()


def test_last_watch_stops_the_recording(no_tracing):
    first = cyclewatch.watch(devices="cpu", budget=1, record_history=4)
    with cyclewatch.watch(devices="cpu", budget=1, record_history=4) as second:
        first.stop()
        make_leak()
        gc.collect()
    [finding] = second.report().findings
    assert len(finding.owners[0].allocation_stack) == 4


def test_last_watch_stops_torchs_history(monkeypatch, no_tracing):
    torch = Torch(monkeypatch, initialized=True)
    recorders = [MemoryRecorder(5000, ["auto"]) for _ in range(2)]
    recorders[0].stop()
    assert torch.recording
    recorders[1].stop()
    assert torch.calls == [("all", 5000), (None, None)]


def test_card_counts_equal_calls(no_tracing):
    def call(times):
        if times == 0:
            make_leak()
        else:
            call(times - 1)

    with cyclewatch.watch(devices="cpu", budget=1, record_history=20) as watch:
        call(12)
        gc.collect()
    line = call.__code__.co_firstlineno + 4
    assert f":{line} (12 calls)" in watch.report().findings[0].to_text(width=400)


def test_deep_stack_is_complete(no_tracing):
    def call(times):
        if times == 0:
            make_leak()
        else:
            call(times - 1)

    with cyclewatch.watch(devices="cpu", record_history=1000) as watch:
        call(50)
        gc.collect()
    stack = watch.report().findings[0].owners[0].allocation_stack
    line = call.__code__.co_firstlineno + 4
    assert len([frame for frame in stack if frame.endswith(f"{__file__}:{line}")]) == 50
    assert len(stack) > 55  # pytest's calls


def test_nothing_is_recorded_by_default(no_tracing):
    with cyclewatch.watch(devices="cpu", budget=1) as watch:
        make_leak()
        gc.collect()
    [owner] = watch.report().findings[0].owners
    assert owner.allocation_stack == []
    assert "allocation_stack" not in watch.report().to_json()


def test_invalid_number():
    with pytest.raises(ValueError, match="record_history"):
        cyclewatch.watch(record_history=-1)
