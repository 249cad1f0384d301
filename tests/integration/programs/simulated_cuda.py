# SPDX-License-Identifier: Apache-2.0
"""The simulated CUDA (tests/simulated_runtime) as a program loads the real one: with ctypes."""

import ctypes
from ctypes import Structure, c_bool, c_int, c_uint64


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
    """One of the two, with what it holds; `thread` is of the thread that asks."""

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
        """Every counter that is above 0, by name."""
        counters = self.state.counters
        pairs = ((name, getattr(counters, name)) for name, _ in Counters._fields_)
        return {name: count for name, count in pairs if count}
