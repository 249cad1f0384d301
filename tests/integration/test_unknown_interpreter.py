# SPDX-License-Identifier: Apache-2.0
"""On a CPython version unknown at build time, a self-test decides whether to use heap scans."""

import json

# A child process can overwrite the interpreter's version constant.
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
    notes = " ".join(report.notes)
    cycle = [reference.label for finding in report.findings for reference in finding.cycle]
except RuntimeError as error:
    answer, notes, cycle = [str(error), 0, 0], "", []
free_threaded = not getattr(sys, "_is_gil_enabled", lambda: True)()
print(json.dumps([free_threaded, answer, notes, cycle]))
"""


def outcome_of(interpreter, program):
    return json.loads(interpreter.run(FUTURE + program + WATCH).stdout.splitlines()[-1])


def test_verified_version_is_watched_without_names(interpreter):
    _, answer, notes, cycle = outcome_of(interpreter, "collect = gc.collect")
    assert answer == ["ride-along", 100, 1]
    assert "layouts of CPython" in notes
    assert ".me" not in cycle


def test_version_that_fails_verification_scans_the_heap(interpreter):
    # The self-test calls gc.collect(), which does nothing here.
    failing = "collect, gc.collect = gc.collect, lambda generation=2: 0"
    free_threaded, answer, notes, _ = outcome_of(interpreter, failing)
    if free_threaded:
        # The heap cannot be scanned on free-threaded builds.
        assert "nothing is watched" in answer[0]
    else:
        assert answer == ["heap-scan", 100, 1]
        assert notes.count("scans the heap instead") == 1
