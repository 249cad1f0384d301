# SPDX-License-Identifier: Apache-2.0
"""Each query during a stream capture, in each mode, with and without cyclewatch's guard.

Does the capture survive, and does the graph compute the right numbers?
"""

import sys
import threading
from ctypes import byref, c_void_p
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import support  # noqa: E402
from probes import cuda_api as cuda  # noqa: E402
from probes.device import CAPTURE_MODES, CaptureLostError, Device  # noqa: E402

OK = "ok in every mode"


class OtherThread:
    """A thread with the same context, on which calls can be made during a capture."""

    def __init__(self, runtime):
        self.call, self.result = None, None
        self.ready, self.done = threading.Event(), threading.Event()
        started = threading.Event()
        threading.Thread(target=self._run, args=(runtime, started), daemon=True).start()
        assert started.wait(20)

    def _run(self, runtime, started):
        runtime.cudaSetDevice(0)
        started.set()
        while True:
            self.ready.wait()
            self.ready.clear()
            self.result = self.call()
            self.done.set()

    def run(self, call):
        """Return what `call` returns on the thread."""
        self.call = call
        self.done.clear()
        self.ready.set()
        assert self.done.wait(20), "the query did not return"
        return self.result


def attempt(device, mode, call):
    """Describe one capture with a query in it."""
    try:
        right, (error, _) = device.captured(mode, call)
    except CaptureLostError as lost:
        return f"error {lost.args[0][0]}, CAPTURE LOST"
    answer = f"error {error}, " if error else ""
    return answer + ("ok" if right else "WRONG NUMBERS")


def summary(device, call):
    """Describe a query in all modes."""
    modes = {mode: attempt(device, mode, call) for mode in CAPTURE_MODES}
    if set(modes.values()) == {"ok"}:
        return OK
    return "; ".join(f"{mode}: {text}" for mode, text in modes.items())


def ways(runtime, other, query):
    """Return the ways to ask a query."""

    def bare():
        result = query()
        runtime.cudaGetLastError()  # of the thread that has asked
        return result

    def guarded():
        return cuda.guarded(runtime, query)

    return {
        "bare": bare,
        "guarded": guarded,
        "bare, other thread": lambda: other.run(bare),
        "guarded, other thread": lambda: other.run(guarded),
    }


def queries_in_captures(_):
    """Record every query; a query that is always harmless has one entry."""
    device = Device()
    runtime = device.runtime
    other = OtherThread(runtime)
    support.record(**{"no query": summary(device, lambda: (0, None))})
    # Shows that the probe notices a lost capture: allocating is forbidden in the global mode.
    control = summary(device, lambda: (runtime.cudaMalloc(byref(c_void_p()), 1 << 20), None))
    support.record(**{"cudaMalloc (control)": control})
    harmful = []
    queries = cuda.runtime_queries(runtime, device.memory, device.pool)
    for name, query in (queries | cuda.driver_queries(device.driver, device.memory)).items():
        texts = {}
        for way, call in ways(runtime, other, query).items():
            texts[way] = summary(device, call)
            if texts[way] != OK:
                support.record(**{f"{name}, {way}": texts[way]})
            if "guarded" in way and texts[way] != OK:
                harmful.append(f"{name}, {way}: {texts[way]}")
        if set(texts.values()) == {OK}:
            support.record(**{name: OK})
    assert not harmful, "; ".join(harmful[:3])
    assert "LOST" in control, control


CHECKS = {"queries_in_captures": queries_in_captures}

if __name__ == "__main__":
    support.main(CHECKS)
