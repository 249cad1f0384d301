# SPDX-License-Identifier: Apache-2.0
"""A watch does not change the state of a (simulated) CUDA device."""

import json

import pytest

import cyclewatch

PROGRAM = """
import atexit
import ctypes
import gc
import json
import os
import sys
from ctypes import Structure, c_bool, c_int, c_uint64

import cyclewatch

class Faults(Structure):
    _fields_ = [
        ("devices", c_int),
        ("device_lost", c_bool),
        ("sticky_error", c_int),
        ("driver_too_old", c_bool),
        ("out_of_memory", c_bool),
        ("capture_mode", c_int),
        ("runtime_version", c_int),
        ("attribute_bytes", c_uint64),
    ]

class Counters(Structure):
    _fields_ = [
        (name, c_int)
        for name in (
            "questions",
            "contexts_created",
            "initialisations",
            "drivers_wanted",
            "captures_broken",
        )
    ]

class State(Structure):
    _fields_ = [
        ("faults", Faults),
        ("counters", Counters),
        ("initialised", c_bool),
        ("primary_active", c_bool),
    ]

class ThreadState(Structure):
    _fields_ = [("context", c_int), ("capture_mode", c_int), ("last_error", c_int)]

class Library:
    # The driver or the runtime; `thread` is the state of the calling thread.
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
        # Every nonzero counter, by name.
        counters = self.state.counters
        pairs = ((name, getattr(counters, name)) for name, _ in Counters._fields_)
        return {name: count for name, count in pairs if count}

class Owner:
    # An owner of device memory that refers to itself.
    def __init__(self):
        self.me = self

def print_state(driver, runtime):
    # Print the CUDA state and the results of the next three calls.
    state = driver.state
    left = [state.initialised, state.primary_active]
    left += [driver.thread.capture_mode, state.faults.capture_mode]
    calls = runtime.calls
    errors = [calls.cudaPeekAtLastError(), calls.cudaGetLastError(), calls.cudaGetLastError()]
    print(json.dumps([left, driver.counted(), runtime.counted(), errors]), flush=True)

def stage(fault, driver, runtime):
    if fault == "not in use":
        return
    # As after the first use of the device on this thread.
    driver.state.initialised = driver.state.primary_active = True
    driver.thread.context = 1
    if "700" in fault:
        driver.state.faults.sticky_error = 700
    if fault.endswith("pending"):
        runtime.thread.last_error = int(fault.split()[1])
        driver.state.faults.out_of_memory = True  # our own queries would fail, too
    if fault == "capture":
        driver.state.faults.capture_mode = 0  # global, the strictest mode

def main(driver_path, runtime_path, folder, fault):
    driver = Library(driver_path)
    runtime = Library(runtime_path)
    stage(fault, driver, runtime)
    # Registered before the watch starts, so it runs after the watch's exit handler.
    atexit.register(print_state, driver, runtime)
    cyclewatch.register_owner(
        Owner, lambda owner: {"device": "cuda:0", "nbytes": 1 << 20, "data_ptr": id(owner)}
    )
    watch = cyclewatch.warn_tensor_cycles(report_dir=folder, formats=("json", "html"), budget=1)
    Owner()
    gc.collect()
    report = watch.report()
    assert report.retained_bytes == 1 << 20
    report.save(os.path.join(folder, "saved.json"))
    Owner()
    gc.collect()

if __name__ == "__main__":
    main(*sys.argv[1:])
"""


MIB = 1 << 20
# The results of the program's next calls, and whether the watch queries the device.
FAULTS = {
    "none": ([0, 0, 0], True),
    "not in use": ([0, 0, 0], False),
    "error 1 pending": ([1, 1, 0], False),
    "error 700 pending": ([700, 700, 700], False),
    "error 700 unreported": ([700, 700, 700], False),
    "capture": ([0, 0, 0], True),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_device_state_is_unchanged(interpreter, tmp_path, simulated_cuda, fault):
    outcome = interpreter.run(PROGRAM, *simulated_cuda, tmp_path, fault)
    state, driver, runtime, errors = json.loads(outcome.stdout)
    expected, queried = FAULTS[fault]
    assert errors == expected
    # Only queries: no context was created, no driver initialised and no capture broken.
    assert driver.keys() == runtime.keys() == ({"questions"} if queried else set())
    in_use = fault != "not in use"
    assert state == [in_use, in_use, 0, 0 if fault == "capture" else -1]
    (written,) = tmp_path.glob("cyclewatch-*.json")
    assert cyclewatch.Report.load(written).retained_bytes == 2 * MIB
    assert cyclewatch.Report.load(tmp_path / "saved.json").retained_bytes == MIB
