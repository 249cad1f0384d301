# SPDX-License-Identifier: Apache-2.0
"""Loads the simulated CUDA (tests/simulated_runtime) by ctypes, as programs load the real one."""

import ctypes
from ctypes import Structure, c_bool, c_int


class Faults(Structure):
    _fields_ = [
        ("devices", c_int),
        ("device_lost", c_bool),
        ("sticky_error", c_int),
        ("out_of_memory", c_bool),
        ("capture_mode", c_int),
    ]


class Counters(Structure):
    _fields_ = [("queries", c_int), ("captures_broken", c_int)]


class State(Structure):
    _fields_ = [("faults", Faults), ("counters", Counters), ("initialized", c_bool)]


class ThreadState(Structure):
    _fields_ = [("context", c_int), ("capture_mode", c_int), ("last_error", c_int)]


class Library:
    """One of the two libraries. `thread` is the state of the calling thread."""

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
