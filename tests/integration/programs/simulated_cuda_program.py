# SPDX-License-Identifier: Apache-2.0
"""Leaks device memory under a watch: simulated_cuda_program.py DRIVER RUNTIME FOLDER FAULT.

At exit, after the watch has finished, prints the state of the simulated CUDA as JSON.
"""

import atexit
import ctypes
import gc
import json
import os
import sys
from ctypes import Structure, c_bool, c_int, c_ulonglong

import cyclewatch


class Faults(Structure):
    _fields_ = [
        ("devices", c_int),
        ("device_lost", c_bool),
        ("sticky_error", c_int),
        ("out_of_memory", c_bool),
        ("capture_mode", c_int),
        ("piece_bytes", c_int),
        ("driver_too_old", c_bool),
        ("attribute_bytes", c_int),
        ("property_bytes", c_int),
    ]


class Counters(Structure):
    _fields_ = [
        ("queries", c_int),
        ("captures_broken", c_int),
        ("drivers_loaded", c_int),
        ("initializations", c_int),
        ("contexts_created", c_int),
    ]


class State(Structure):
    _fields_ = [
        ("faults", Faults),
        ("counters", Counters),
        ("initialized", c_bool),
        ("primary_active", c_bool),
        ("pool_reserved", c_ulonglong),
        ("pool_used", c_ulonglong),
        ("graphs_reserved", c_ulonglong),
    ]


class ThreadState(Structure):
    _fields_ = [("context", c_int), ("capture_mode", c_int), ("last_error", c_int)]


class Library:
    """Loads a simulated library (tests/simulated_runtime) the way programs load the real one.

    `thread` is the state of the calling thread.
    """

    def __init__(self, path):
        self.calls = ctypes.CDLL(path)
        self.state = self._at("cyclewatch_simulated_state", State)

    @property
    def thread(self):
        return self._at("cyclewatch_simulated_thread", ThreadState)

    def _at(self, name, kind):
        function = getattr(self.calls, name)
        function.restype = ctypes.POINTER(kind)
        return function().contents

    def counted(self):
        """The non-zero counters by name."""
        counters = self.state.counters
        pairs = ((name, getattr(counters, name)) for name, _ in Counters._fields_)
        return {name: count for name, count in pairs if count}


class Owner:
    """Registered as an owner of device memory; refers to itself."""

    def __init__(self):
        self.me = self


def print_state(driver, runtime):
    """Print CUDA's state, the counters, and the errors that the program's next calls return."""
    state = driver.state
    left = [state.initialized, driver.thread.capture_mode, state.faults.capture_mode]
    counted = [driver.counted(), runtime.counted()]
    calls = runtime.calls
    errors = [calls.cudaPeekAtLastError(), calls.cudaGetLastError(), calls.cudaGetLastError()]
    print(json.dumps([left, *counted, errors]), flush=True)


def stage(fault, driver, runtime):
    if fault == "not in use":
        return
    # The state after the program's first use of the device on this thread.
    driver.state.initialized = True
    driver.state.primary_active = True
    driver.thread.context = 1
    if "700" in fault:
        driver.state.faults.sticky_error = runtime.state.faults.sticky_error = 700
    if fault.endswith("pending"):
        runtime.thread.last_error = int(fault.split()[1])
        driver.state.faults.out_of_memory = True  # the watch's queries fail as well
    if fault == "capture":
        driver.state.faults.capture_mode = 0  # global: forbids the most calls


def main(driver_path, runtime_path, folder, fault):
    driver = Library(driver_path)
    runtime = Library(runtime_path)
    stage(fault, driver, runtime)
    # Registered before the watch starts, so that it runs after the watch's own exit handlers.
    atexit.register(print_state, driver, runtime)
    cyclewatch.register_owner(
        Owner, lambda owner: {"device": "cuda:0", "nbytes": 1 << 20, "data_ptr": id(owner)}
    )
    watch = cyclewatch.warn_tensor_cycles(report_dir=folder, formats=("json", "html"), budget=1)
    Owner()
    gc.collect()
    report = watch.report()
    assert report.retained_bytes == 1 << 20
    if driver.state.initialized:
        [record] = report.device_records
        assert (record.name, record.total) == ("Simulated GPU", 1 << 30), record
        errors = {"error 1 pending": "cudaErrorInvalidValue"}
        errors["error 700 pending"] = "cudaErrorIllegalAddress"
        assert record.error == errors.get(fault), record.error
        assert any(record.error in note for note in report.notes) if record.error else True
        assert (record.memory is None) == fault.endswith("pending"), record.memory
        assert (record.memory_now is None) == fault.endswith("pending"), record.memory_now
    report.save(os.path.join(folder, "saved.json"))
    Owner()
    gc.collect()


if __name__ == "__main__":
    main(*sys.argv[1:])
