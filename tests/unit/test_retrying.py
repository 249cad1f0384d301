# SPDX-License-Identifier: Apache-2.0
"""retry_on_oom() and the errors that it recognizes, without torch."""

import gc
import sys
import types
import weakref

import pytest

import cyclewatch
from cyclewatch.oom import errors as oom_errors

CPU_TEXT = (
    "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: "
    "you tried to allocate 4096 bytes. Error code 12 (Cannot allocate memory)"
)
CUDA_TEXT = "CUDA out of memory. Tried to allocate 20.50 MiB. GPU 0 has a total capacity of 8 GiB."


class OutOfMemoryError(RuntimeError):
    """Simulates torch.OutOfMemoryError."""


class AcceleratorError(RuntimeError):
    """Simulates torch.AcceleratorError."""


class Device(types.ModuleType):
    """Simulates torch.cuda."""

    def __init__(self, initialized):
        super().__init__("torch.cuda")
        self.initialized = initialized
        self.emptied = 0

    def is_initialized(self):
        return self.initialized

    def empty_cache(self):
        self.emptied += 1


@pytest.fixture
def torch(monkeypatch):
    module = types.ModuleType("torch")
    module.OutOfMemoryError, module.AcceleratorError = OutOfMemoryError, AcceleratorError
    monkeypatch.setitem(sys.modules, "torch", module)
    return module


@pytest.fixture
def automatic_collection_is_off():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


class Buffer:
    """An object that the failed call creates."""


def accelerator_error(code):
    error = AcceleratorError("CUDA error")
    error.error_code = code
    return error


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (MemoryError(), True),
        (OutOfMemoryError(CUDA_TEXT), True),
        (accelerator_error(2), True),
        (accelerator_error(700), False),
        (AcceleratorError("CUDA error: out of memory"), False),
        (RuntimeError(CPU_TEXT), True),
        (RuntimeError("out of memory"), False),
        (ValueError(CPU_TEXT), False),
        (RuntimeError(), False),
    ],
    ids=repr,
)
def test_errors_are_matched_by_type_and_the_cpu_allocator_by_text(torch, error, expected):
    assert oom_errors.is_out_of_memory(error) is expected


def test_without_torch_only_errors_of_python_and_its_cpu_allocator_match(monkeypatch):
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    assert oom_errors.is_out_of_memory(MemoryError())
    assert not oom_errors.is_out_of_memory(OutOfMemoryError(CUDA_TEXT))


@pytest.mark.parametrize(
    ("text", "expected"), [(CPU_TEXT, 4096), (CUDA_TEXT, 20.5 * 2**20), ("no size", None)]
)
def test_requested_bytes_are_read_from_the_message(text, expected):
    assert oom_errors.requested_bytes(RuntimeError(text)) == expected


def test_requested_bytes_of_a_numpy_array_are_exact():
    numpy = pytest.importorskip("numpy")
    with pytest.raises(MemoryError) as caught:
        numpy.ones((1 << 40, 3), dtype="float32")
    assert oom_errors.requested_bytes(caught.value) == 12 << 40
    assert oom_errors.requested_bytes(MemoryError((1, 2), "float32")) is None
    assert oom_errors.requested_bytes(MemoryError()) is None


def test_nothing_of_the_failed_call_is_alive_at_the_retry(automatic_collection_is_off):
    created, alive = [], []

    def allocate():
        buffer = Buffer()
        buffer.me = buffer  # only a collection frees it
        local = Buffer()
        created.extend([weakref.ref(buffer), weakref.ref(local)])
        raise MemoryError

    @cyclewatch.retry_on_oom()
    def step():
        if created:
            alive.extend(each() for each in created)
            return "done"
        try:
            allocate()
        except MemoryError as error:
            raise MemoryError("step failed") from error

    assert step() == "done"
    assert alive == [None, None]


def test_stored_exception_keeps_its_lines_but_no_variables():
    stored = []

    @cyclewatch.retry_on_oom()
    def step():
        buffer = Buffer()
        if not stored:
            stored.append(None)
            error = MemoryError()
            stored[:] = [error, weakref.ref(buffer)]
            raise error
        return stored[1]()

    assert step() is None
    assert stored[0].__traceback__.tb_next.tb_frame.f_code.co_name == "step"


def test_frames_of_an_exception_that_the_caller_handles_are_not_cleared():
    def fail():
        kept = Buffer()
        raise ValueError(kept)

    calls = []

    @cyclewatch.retry_on_oom()
    def step():
        calls.append(None)
        if len(calls) == 1:
            raise MemoryError

    try:
        fail()
    except ValueError as error:
        step()
        assert "kept" in error.__traceback__.tb_next.tb_frame.f_locals
    assert len(calls) == 2


def test_last_error_propagates_after_all_attempts(caplog):
    calls = []

    @cyclewatch.retry_on_oom(attempts=2)
    def step():
        calls.append(None)
        raise MemoryError(len(calls))

    with pytest.raises(MemoryError) as caught:
        step()
    assert caught.value.args == (3,)
    assert caught.value.__context__ is None
    assert [each.getMessage().rpartition("step: ")[2] for each in caplog.records] == [
        "MemoryError; collecting, then retry 1 of 2",
        "MemoryError; collecting, then retry 2 of 2",
    ]


def test_other_errors_are_not_retried():
    calls = []

    @cyclewatch.retry_on_oom()
    def step():
        calls.append(None)
        raise KeyError

    with pytest.raises(KeyError):
        step()
    assert len(calls) == 1


@pytest.mark.parametrize("initialized", [True, False])
def test_only_an_initialized_device_empties_its_cache(torch, initialized):
    torch.cuda = Device(initialized)
    calls = []

    @cyclewatch.retry_on_oom()
    def step():
        calls.append(None)
        if len(calls) == 1:
            raise OutOfMemoryError(CUDA_TEXT)

    step()
    assert torch.cuda.emptied == initialized


def test_invalid_use_is_explained():
    with pytest.raises(TypeError, match=r"use @retry_on_oom\(\), with parentheses"):
        cyclewatch.retry_on_oom(lambda: None)
    with pytest.raises(ValueError, match="attempts must be at least 1, not 0"):
        cyclewatch.retry_on_oom(0)

    async def step():
        pass

    async def batches():
        yield 1

    for function in (step, batches):
        with pytest.raises(TypeError, match="cannot decorate a coroutine"):
            cyclewatch.retry_on_oom()(function)
