# SPDX-License-Identifier: Apache-2.0
"""A CPython that came out after this build: proved before it is used, or done without."""

import json

# The interpreter says its version in a constant, which a child process can overwrite for itself.
FUTURE = """
import ctypes, gc, json, mmap, sys

version = ctypes.c_ulong.in_dll(ctypes.pythonapi, "Py_Version")
start = ctypes.addressof(version) // mmap.PAGESIZE * mmap.PAGESIZE
protect = ctypes.CDLL(None).mprotect
assert protect(ctypes.c_void_p(start), ctypes.c_size_t(2 * mmap.PAGESIZE), 3) == 0
version.value = 0x036300F0

import cyclewatch

class Buffer:
    def __init__(self):
        self.nbytes = 100

class Node:
    def __init__(self):
        self.me, self.buffer = self, Buffer()

cyclewatch.register_owner(
    Buffer, lambda b: {"device": "cpu", "nbytes": b.nbytes, "data_ptr": id(b)}
)
"""

WATCH = """
try:
    with cyclewatch.watch(devices=("cpu",)) as watch:
        gc.collect = collect
        Node()
        gc.collect()
    report = watch.report()
    answer = [report.processes[0].strategy, report.retained_bytes, len(report.findings)]
    said = " ".join(report.notes)
except RuntimeError as error:
    answer, said = [str(error), 0, 0], ""
free_threaded = not getattr(sys, "_is_gil_enabled", lambda: True)()
print(json.dumps([free_threaded, answer, said]))
"""


def outcome_of(interpreter, program):
    return json.loads(interpreter.run(FUTURE + program + WATCH).stdout.splitlines()[-1])


def test_future_version_is_proved_and_its_cycles_are_found_without_names(interpreter):
    _, answer, said = outcome_of(interpreter, "collect = gc.collect")
    assert answer == ["ride-along", 100, 1]
    assert "layouts of CPython" in said


def test_future_version_that_fails_the_proof_is_done_without_the_ride_along(interpreter):
    # GIVEN a collector that does not do what the proof expects of it
    failing = "collect, gc.collect = gc.collect, lambda generation=2: 0"
    free_threaded, answer, said = outcome_of(interpreter, failing)
    if free_threaded:
        # THEN there is no slower way where threads run at once
        assert "nothing is watched" in answer[0]
    else:
        # THEN the slower way finds the same, and one sentence says so
        assert answer == ["trial-deletion", 100, 1]
        assert said.count("falls back to trial deletion") == 1
