# SPDX-License-Identifier: Apache-2.0
"""The runtime's last error around a query, and threads without a context."""

import ctypes
import sys
import threading
from ctypes import byref, c_int
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import support  # noqa: E402
from probes import cuda_api as cuda  # noqa: E402
from probes.device import Device  # noqa: E402

INVALID_DEVICE = 101
NO_SUCH_DEVICE = 99


def last_errors(_):
    """The guard keeps the program's pending error, and removes an error of its own query."""
    runtime = Device().runtime
    assert runtime.cudaSetDevice(NO_SUCH_DEVICE) == INVALID_DEVICE
    before = runtime.cudaPeekAtLastError()
    asked, _value = cuda.guarded(runtime, lambda: cuda.memory(runtime.cudaMemGetInfo))
    after = runtime.cudaPeekAtLastError()
    support.record(**{"pending error before, after a guarded query": [before, after]})
    # A query that succeeds does not clear a pending error either.
    error, _value = cuda.memory(runtime.cudaMemGetInfo)
    kept = runtime.cudaPeekAtLastError()
    support.record(**{"bare cudaMemGetInfo with a pending error": f"error {error}, then {kept}"})
    assert before == after == INVALID_DEVICE, (before, after)
    assert asked.startswith("not asked")
    runtime.cudaGetLastError()
    error, _value = cuda.guarded(
        runtime, lambda: (runtime.cudaDeviceGetAttribute(byref(c_int()), 75, NO_SUCH_DEVICE), None)
    )
    left = runtime.cudaPeekAtLastError()
    support.record(**{"guarded query that fails": f"error {error}, last error afterwards {left}"})
    assert error == INVALID_DEVICE and left == cuda.SUCCESS, (error, left)


def thread_without_a_context(_):
    """A thread that has not used the device has no context, and looking for one creates none."""
    device = Device()
    seen = {}

    def look():
        seen["before"] = cuda.answer(device.driver.cuCtxGetCurrent, ctypes.c_void_p)
        seen["device"] = cuda.answer(device.driver.cuCtxGetDevice, c_int)[0]
        seen["after"] = cuda.answer(device.driver.cuCtxGetCurrent, ctypes.c_void_p)
        seen["runtime"], _value = cuda.memory(device.runtime.cudaMemGetInfo)
        seen["now"] = cuda.answer(device.driver.cuCtxGetCurrent, ctypes.c_void_p)

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    made = "makes the primary context current" if seen["now"][1] else "makes no context current"
    support.record(
        **{
            "context before": "none" if seen["before"] == (0, None) else str(seen["before"]),
            "cuCtxGetDevice": f"error {seen['device']}",
            "cudaMemGetInfo there": f"error {seen['runtime']}, {made}",
        }
    )
    assert seen["before"] == seen["after"] == (0, None), seen
    assert seen["device"], seen


CHECKS = {"last_errors": last_errors, "thread_without_a_context": thread_without_a_context}

if __name__ == "__main__":
    support.main(CHECKS)
