# SPDX-License-Identifier: Apache-2.0
"""The time of each query while the device is idle, and while it works."""

import ctypes
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import support  # noqa: E402
from probes import cuda_api as cuda  # noqa: E402
from probes.device import Device  # noqa: E402

CALLS = 200


def microseconds(call):
    """Return the median and the maximum time of `call`."""
    times = []
    for _ in range(CALLS):
        begin = time.perf_counter()
        call()
        times.append(1e6 * (time.perf_counter() - begin))
    return statistics.median(times), max(times)


def query_times(device):
    """Time each query. The times include about a microsecond for the call from Python."""
    on = Device()
    runtime, driver = on.runtime, on.driver
    queries = cuda.runtime_queries(runtime, on.memory, on.pool)
    calls = {
        name: lambda query=query: cuda.guarded(runtime, query) for name, query in queries.items()
    }
    calls |= cuda.driver_queries(driver, on.memory)
    for name, call in calls.items():
        idle = microseconds(call)
        on.keep_busy()
        busy = microseconds(call)
        still_busy = on.working()
        on.synchronize()
        note = "" if still_busy else " (the device finished earlier)"
        support.record(
            **{
                name: f"idle {idle[0]:.1f} us (max {idle[1]:.0f}), "
                f"busy {busy[0]:.1f} us (max {busy[1]:.0f}){note}"
            }
        )


def first_call_into_a_runtime(device):
    """The first query of a runtime that nobody has used, while the driver API has a context."""
    driver = cuda.load_driver()
    context = ctypes.c_void_p()
    assert not driver.cuInit(0)
    assert not driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
    assert not driver.cuCtxSetCurrent(context)
    path = cuda.runtime_path()
    if path is None:
        raise support.MissingError("no CUDA runtime (libcudart) found")
    runtime = ctypes.CDLL(path)
    free = cuda.memory(driver.cuMemGetInfo_v2)[1][0]
    host = resident_kib()
    begin = time.perf_counter()
    error, (seen, _) = cuda.memory(runtime.cudaMemGetInfo)
    seconds = time.perf_counter() - begin
    now = ctypes.c_void_p()
    driver.cuCtxGetCurrent(ctypes.byref(now))
    support.record(
        **{
            "first cudaMemGetInfo": f"error {error}, {1e3 * seconds:.2f} ms",
            "host memory added, KiB": resident_kib() - host,
            "device memory added, KiB": (free - seen) // 1024,
        }
    )
    assert not error
    assert now.value == context.value, "the query changed the thread's context"


def resident_kib():
    """Return the resident set size of this process."""
    pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1])
    return pages * 4


CHECKS = {"query_times": query_times, "first_call_into_a_runtime": first_call_into_a_runtime}

if __name__ == "__main__":
    support.main(CHECKS)
