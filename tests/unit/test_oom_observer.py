# SPDX-License-Identifier: Apache-2.0
"""The observer of device allocation failures, with a simulation of torch's binding."""

import gc
import os
import sys
import threading
import types

import pytest
from owners import Buffer

import cyclewatch
from cyclewatch.oom import observer as oom_observer
from cyclewatch.snapshots import pickle_data
from cyclewatch.snapshots.allocator_state import Snapshot

pytestmark = pytest.mark.usefixtures("buffers_are_owners")

MIB = 1 << 20


class OutOfMemoryError(RuntimeError):
    """Simulates torch.OutOfMemoryError."""


class Cuda(types.ModuleType):
    """torch.cuda."""

    def __init__(self):
        super().__init__("torch.cuda")
        self._initialized = False
        self.asked = 0

    def is_initialized(self):
        self.asked += 1
        return self._initialized


class Torch(types.ModuleType):
    """torch with one CUDA device. Attaching an observer initializes the device, as in torch."""

    def __init__(self):
        super().__init__("torch")
        self.initialized_by_us = False
        self.observers = []
        self.OutOfMemoryError = OutOfMemoryError
        self.cuda = Cuda()
        self._C = types.SimpleNamespace(
            _cuda_attach_out_of_memory_observer=self.attach,
            _cuda_memoryStats=lambda _device: {"allocated_bytes": {"all": {"current": 3_500_000}}},
        )

    def attach(self, observer):
        self.initialized_by_us |= not self.cuda._initialized
        self.cuda._initialized = True
        self.observers.append(observer)

    def fail(self, requested=20 * MIB):
        """Allocate, as a kernel does: calls the observers, then raises."""
        for observer in self.observers:
            # The binding lets exceptions of the observer replace the out-of-memory error.
            observer(0, requested, 8 << 30, 1 << 20)
        raise OutOfMemoryError(
            f"CUDA out of memory. Tried to allocate {requested / MIB:.2f} MiB. GPU 0"
        )


@pytest.fixture
def torch(monkeypatch):
    module = Torch()
    monkeypatch.setitem(sys.modules, "torch", module)
    monkeypatch.setattr(oom_observer, "_next", 0.0)
    return module


@pytest.fixture
def clock(monkeypatch):
    """A clock whose time the test sets."""
    now = types.SimpleNamespace(seconds=100.0)
    fake = types.SimpleNamespace(monotonic=lambda: now.seconds)
    monkeypatch.setattr(oom_observer, "time", fake)
    return now


@pytest.fixture
def autopsy(torch, clock, tmp_path):
    """An active autopsy with an attached observer."""
    torch.cuda._initialized = True
    with cyclewatch.oom_autopsy(report_dir=tmp_path) as active:
        yield active


def fail(torch, **arguments):
    with pytest.raises(OutOfMemoryError):
        torch.fail(**arguments)


def report_of(autopsy):
    with open(autopsy.report_path, encoding="utf-8") as file:
        return file.read()


def test_handled_failure_is_reported(torch, autopsy):
    buffer = Buffer(1_000_000, "cuda:0")
    buffer.me = buffer
    del buffer
    kept = Buffer(1_000_000, "cuda:0")
    fail(torch)
    text = report_of(autopsy)
    assert isinstance(kept, Buffer)
    assert text.startswith(
        "out of memory on cuda:0: 20.0 MiB requested, 3.3 MiB of 8.0 GiB in use, of which 977 KiB "
        "reachable from Python (the largest group, 977 KiB, is held by "
        "test_handled_failure_is_reported() local kept: delete the variable `kept` of "
    )
    assert text.splitlines()[0].endswith(
        "); 977 KiB dead in 1 cycle (a collection frees them): cut Buffer.me; 1.4 MiB remainder of "
        "torch's allocations (C++ code)"
    )
    assert "Buffer.me -> Buffer" in text


def test_observer_is_attached_once_and_after_the_program_initialized_the_device(torch, tmp_path):
    for _ in range(2):
        with cyclewatch.oom_autopsy(report_dir=tmp_path):
            pass
    assert not torch.cuda._initialized
    with cyclewatch.warn_tensor_cycles(devices="cpu", report_dir=tmp_path) as watch:
        watch.step(1)
        assert not torch.observers
        torch.cuda._initialized = True
        watch.step(2)
        watch.step(3)
        with cyclewatch.oom_autopsy(report_dir=tmp_path):
            pass
    assert len(torch.observers) == 1
    assert not torch.initialized_by_us


def test_step_does_not_call_torch_before_the_program_initialized_the_device(torch, tmp_path):
    with cyclewatch.warn_tensor_cycles(devices="cpu", report_dir=tmp_path) as watch:
        watch.step(1)
        watch.step(2)
        assert torch.cuda.asked == 0
        torch.cuda._initialized = True
        watch.step(3)
        watch.step(4)
    assert torch.cuda.asked == 1


def test_device_that_cannot_be_used_after_fork_is_left_alone(torch, tmp_path):
    torch.cuda._initialized = True
    torch.cuda.is_initialized = lambda: False
    with cyclewatch.oom_autopsy(report_dir=tmp_path):
        assert not torch.observers


def test_observer_is_attached_after_a_collection(torch, tmp_path):
    # A program under ``cyclewatch run`` has no steps.
    with (
        cyclewatch.watch(budget=1, devices="cpu"),
        cyclewatch.oom_autopsy(report_dir=tmp_path) as autopsy,
    ):
        gc.collect()
        assert not torch.observers
        torch.cuda._initialized = True
        gc.collect()
        for _ in range(1000):
            pass  # pending calls run
        assert len(torch.observers) == 1
        fail(torch)
    assert "20.0 MiB requested" in report_of(autopsy)


@pytest.mark.parametrize("arguments", [(), (0,), ("a", None, 3.5, "free"), (0, 1, 2, 3, 4)])
def test_unexpected_arguments_are_ignored(torch, autopsy, arguments):
    (observer,) = torch.observers
    assert observer(*arguments) is None


def test_observer_does_nothing_without_an_autopsy(torch, tmp_path):
    torch.cuda._initialized = True
    with cyclewatch.oom_autopsy(report_dir=tmp_path):
        pass
    assert torch.observers
    fail(torch)
    assert not list(tmp_path.iterdir())


def test_at_most_one_report_per_second_and_the_last_one_stays(torch, autopsy, clock):
    fail(torch, requested=20 * MIB)
    clock.seconds += 0.9
    fail(torch, requested=21 * MIB)
    assert "20.0 MiB requested" in report_of(autopsy)
    clock.seconds += 0.2
    fail(torch, requested=22 * MIB)
    assert "22.0 MiB requested" in report_of(autopsy)


def test_large_heap_is_examined_when_the_error_leaves_the_block(torch, clock, tmp_path):
    torch.cuda._initialized = True
    with pytest.raises(OutOfMemoryError) as caught, cyclewatch.oom_autopsy(report_dir=tmp_path):
        objects = [[] for _ in range(2_000_000)]
        fail(torch)
        assert len(objects) == 2_000_000
        assert not list(tmp_path.iterdir())
        torch.fail()
    assert "20.0 MiB requested" in caught.value.__notes__[0]


def test_note_uses_the_report_of_the_observer(torch, clock, tmp_path):
    torch.cuda._initialized = True
    error = None
    with pytest.raises(OutOfMemoryError) as caught, cyclewatch.oom_autopsy(report_dir=tmp_path):
        buffer = Buffer(1_000_000, "cuda:0")
        buffer.me = buffer
        try:
            torch.fail()
        except OutOfMemoryError as failure:
            error = failure
        del buffer  # dead now, but not when the allocation failed
        raise error
    (note,) = caught.value.__notes__
    assert (
        "977 KiB reachable from Python (the largest group, 977 KiB, is held by "
        "test_note_uses_the_report_of_the_observer() local buffer: delete the variable " in note
    )
    assert "dead" not in note


def test_failure_that_was_not_observed_is_examined(torch, autopsy, clock):
    fail(torch, requested=20 * MIB)
    with pytest.raises(OutOfMemoryError) as caught, autopsy:
        torch.fail(requested=30 * MIB)  # within one second
    assert "30.0 MiB requested" in caught.value.__notes__[0]


def test_observer_works_on_another_thread(torch, autopsy):
    errors = []

    def backward():
        try:
            torch.fail()
        except OutOfMemoryError as error:
            errors.append(error)

    thread = threading.Thread(target=backward)
    thread.start()
    thread.join()
    assert len(errors) == 1
    assert "20.0 MiB requested" in report_of(autopsy)


@pytest.mark.parametrize("error", [ValueError, SystemExit, MemoryError])
def test_observer_never_raises(torch, autopsy, error):
    def broken(_memory):
        calls.append(None)
        raise error

    calls = []
    oom_observer.start(broken)
    fail(torch)
    fail(torch)
    assert len(calls) == 2


def test_interrupt_reaches_the_main_thread(torch, autopsy):
    def interrupted(_memory):
        raise KeyboardInterrupt

    oom_observer.start(interrupted)
    with pytest.raises(KeyboardInterrupt):
        fail(torch)


def test_failure_while_a_failure_is_examined_is_ignored(torch, autopsy):
    calls = []

    def reader(_owner):
        calls.append(None)
        fail(torch, requested=5)
        return {"device": "cuda:0", "nbytes": 1, "data_ptr": 1}

    cyclewatch.register_owner(Buffer, reader)
    kept = Buffer(1_000_000, "cuda:0")
    fail(torch)
    assert isinstance(kept, Buffer)
    assert calls
    assert "20.0 MiB requested" in report_of(autopsy)


def test_forked_child_writes_its_own_report(torch, autopsy, clock):
    fail(torch)
    parent = report_of(autopsy)
    clock.seconds += 2
    child = os.fork()
    if child == 0:
        status = 1
        try:
            fail(torch, requested=33 * MIB)
            status = int("33.0 MiB requested" not in report_of(autopsy))
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    assert report_of(autopsy) == parent


@pytest.fixture
def real_torch(monkeypatch):
    """The real torch, made to look initialized, with a binding that records the observer."""
    module = pytest.importorskip("torch", reason="the tests use torch's own modes")
    observers = []
    binding = {"_cuda_attach_out_of_memory_observer": observers.append}
    binding["_cuda_memoryStats"] = lambda _device: {"allocated_bytes": {"all": {"current": 1}}}
    for name, function in binding.items():
        monkeypatch.setattr(module._C, name, function, raising=False)
    monkeypatch.setattr(module.cuda, "_initialized", True)
    monkeypatch.setattr(module.cuda, "is_initialized", lambda: True)
    # A real stream capture fails if its thread synchronizes or allocates.
    for name in ("synchronize", "empty_cache", "mem_get_info", "memory_stats", "current_stream"):
        monkeypatch.setattr(module.cuda, name, lambda *_, **__: pytest.fail("called the device"))
    module.observers = observers
    yield module
    del module.observers


def test_observer_runs_no_operation_in_autocast_and_capture(real_torch, clock, tmp_path):
    from torch.overrides import TorchFunctionMode
    from torch.utils._python_dispatch import TorchDispatchMode

    operations = []

    class Functions(TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            operations.append(function)
            return function(*args, **(kwargs or {}))

    class Kernels(TorchDispatchMode):
        def __torch_dispatch__(self, kernel, types, args=(), kwargs=None):
            operations.append(kernel)
            return kernel(*args, **(kwargs or {}))

    kept = real_torch.zeros(8, requires_grad=True)
    with cyclewatch.oom_autopsy(report_dir=tmp_path) as autopsy:
        (observer,) = real_torch.observers
        with real_torch.autocast("cpu", dtype=real_torch.bfloat16), Functions(), Kernels():
            kept.sum()
            seen = len(operations)
            observer(0, 20 * MIB, 8 << 30, 1 << 20)
            assert real_torch.is_autocast_enabled("cpu")
            after = len(operations)
    assert seen > 0
    assert after == seen
    assert "20.0 MiB requested" in report_of(autopsy)


class RecordingMemory:
    """torch.cuda.memory while the history is recorded."""

    def __init__(self, error=None):
        self.error = error

    def _snapshot(self):
        if self.error is not None:
            raise self.error
        return {"segments": [], "device_traces": [[{"action": "oom", "size": 20, "frames": []}]]}


def record(torch, monkeypatch, memory):
    """Simulate that torch records its memory history."""
    torch.cuda._initialized = True
    torch._C._cuda_isHistoryEnabled = lambda: True
    monkeypatch.setitem(sys.modules, "torch._C", torch._C)
    monkeypatch.setitem(sys.modules, "torch.cuda.memory", memory)
    torch.cuda.memory = memory


def test_a_snapshot_is_written_if_the_history_is_recorded(torch, clock, tmp_path, monkeypatch):
    record(torch, monkeypatch, RecordingMemory())
    with (
        pytest.raises(OutOfMemoryError) as caught,
        cyclewatch.oom_autopsy(report_dir=tmp_path) as autopsy,
    ):
        torch.fail()
    (path,) = tmp_path.glob("*-oom.pickle")
    (note,) = caught.value.__notes__
    assert note.endswith(f"; report: {autopsy.report_path}; snapshot: {path} (cyclewatch snapshot)")
    assert path.stat().st_mode & 0o777 == 0o600
    snapshot = Snapshot(pickle_data.load(path.read_bytes()), str(path))
    assert [event.size for event in snapshot.events(0)] == [20]


@pytest.mark.parametrize("error", [None, RuntimeError("no history")])
def test_no_snapshot_is_written_otherwise(torch, clock, tmp_path, monkeypatch, error):
    record(torch, monkeypatch, RecordingMemory(error))
    torch._C._cuda_isHistoryEnabled = lambda: error is not None
    with (
        pytest.raises(OutOfMemoryError) as caught,
        cyclewatch.oom_autopsy(report_dir=tmp_path) as autopsy,
    ):
        torch.fail()
    assert not list(tmp_path.glob("*.pickle"))
    assert caught.value.__notes__[0].endswith(f"; report: {autopsy.report_path}")


def test_no_snapshot_is_taken_inside_the_observer(torch, autopsy, tmp_path, monkeypatch):
    record(torch, monkeypatch, RecordingMemory())
    fail(torch)  # handled by the program
    assert not list(tmp_path.glob("*.pickle"))
