# SPDX-License-Identifier: Apache-2.0
"""The CUDA driver and runtime through ctypes: the queries that the probes examine.

As a program: prints why this machine has no usable device, or an empty line.
"""

import ctypes
import glob
import os
import sys
from ctypes import byref, c_char, c_int, c_size_t, c_uint64, c_void_p
from pathlib import Path

RELAXED = 2  # cudaStreamCaptureModeRelaxed
SUCCESS = 0
# Attributes of a memory pool, the same in both libraries.
RESERVED, USED = 5, 7
RANGE_START, RANGE_SIZE = 11, 12  # attributes of a pointer
GRAPH_RESERVED = 2  # attribute of a device's memory for graphs
COMPUTE_CAPABILITY_MAJOR = 75


def load_driver():
    """Load the driver; raises OSError if there is none."""
    return ctypes.CDLL("libcuda.so.1")


def runtime_path():
    """Return the path of a CUDA runtime on this machine, or None.

    A runtime that is already loaded comes first, then the one that torch would load. Neither torch
    nor a CUDA library is loaded.
    """
    chosen = os.environ.get("CYCLEWATCH_GPU_RUNTIME")
    known = [chosen] if chosen else loaded_libraries("libcudart")
    if known:
        return known[0]
    patterns = [f"{folder}/nvidia/*/lib/libcudart.so.[0-9]*" for folder in sys.path if folder]
    patterns += [f"{folder}/torch/lib/libcudart*.so*" for folder in sys.path if folder]
    patterns += ["/usr/local/cuda*/lib64/libcudart.so.[0-9]*", "/usr/lib/*/libcudart.so.[0-9]*"]
    for pattern in patterns:
        found = sorted(glob.glob(pattern))
        if found:
            return found[0]
    return None


def loaded_libraries(stem):
    """Return the paths of the loaded libraries whose file names begin with `stem`."""
    lines = Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()
    paths = {line.split(maxsplit=5)[-1] for line in lines if "/" in line}
    return sorted(path for path in paths if Path(path).name.startswith(stem))


def answer(function, kind, *arguments, first=()):
    """Call a function that stores its answer; return the error number and the answer."""
    value = kind()
    error = function(*first, byref(value), *arguments)
    return error, value.value


def default_pool(library, name):
    """Return the default memory pool of device 0 as (error, handle)."""
    return answer(getattr(library, name), c_void_p, 0)


def text(function, *arguments):
    """Call a function that stores a text of at most 64 bytes."""
    buffer = (c_char * 64)()
    error = function(buffer, 64, *arguments)
    return error, buffer.value.decode()


def memory(function):
    """Call cudaMemGetInfo or cuMemGetInfo; return (error, (free, total))."""
    free, total = c_size_t(), c_size_t()
    error = function(byref(free), byref(total))
    return error, (free.value, total.value)


def properties(runtime):
    """Return (error, name) of device 0."""
    buffer = (c_char * 8192)()  # the structure has at most 1,032 bytes in CUDA 11 to 13
    return runtime.cudaGetDeviceProperties(buffer, 0), buffer.value.decode()


def pointer_attributes(runtime, address):
    """Return (error, (type, device)) of an address."""
    buffer = (c_int * 64)()  # the structure has at most 88 bytes in CUDA 11 to 13
    error = runtime.cudaPointerGetAttributes(buffer, c_void_p(address))
    return error, (buffer[0], buffer[1])


def runtime_queries(runtime, address, pool=None):
    """Return the runtime's queries by name; each returns (error, answer)."""
    mode = c_int(RELAXED)
    queries = {
        "cudaRuntimeGetVersion": lambda: answer(runtime.cudaRuntimeGetVersion, c_int),
        "cudaDriverGetVersion": lambda: answer(runtime.cudaDriverGetVersion, c_int),
        "cudaPeekAtLastError": lambda: (runtime.cudaPeekAtLastError(), None),
        "cudaGetDeviceCount": lambda: answer(runtime.cudaGetDeviceCount, c_int),
        "cudaGetDevice": lambda: answer(runtime.cudaGetDevice, c_int),
        "cudaDeviceGetAttribute": lambda: answer(
            runtime.cudaDeviceGetAttribute, c_int, COMPUTE_CAPABILITY_MAJOR, 0
        ),
        "cudaDeviceGetPCIBusId": lambda: text(runtime.cudaDeviceGetPCIBusId, 0),
        "cudaGetDeviceProperties": lambda: properties(runtime),
        "cudaDeviceGetDefaultMemPool": lambda: default_pool(runtime, "cudaDeviceGetDefaultMemPool"),
        "cudaDeviceGetGraphMemAttribute": lambda: graph_memory(runtime),
        "cudaPointerGetAttributes": lambda: pointer_attributes(runtime, address),
        "cudaMemGetInfo": lambda: memory(runtime.cudaMemGetInfo),
    }
    if pool:
        queries["cudaMemPoolGetAttribute"] = lambda: pool_attribute(runtime, pool, RESERVED)
    else:
        # Restored at once; the probes of captures use it as the guard itself.
        queries["cudaThreadExchangeStreamCaptureMode"] = lambda: (
            runtime.cudaThreadExchangeStreamCaptureMode(byref(mode))
            or runtime.cudaThreadExchangeStreamCaptureMode(byref(mode)),
            None,
        )
    return queries


def graph_memory(runtime):
    """Return (error, bytes) reserved for captured graphs on device 0."""
    return answer(runtime.cudaDeviceGetGraphMemAttribute, c_uint64, first=(0, GRAPH_RESERVED))


def version(runtime, kind):
    """Return the version of the "Runtime" or the "Driver"."""
    return answer(getattr(runtime, f"cuda{kind}GetVersion"), c_int)[1]


def pool_attribute(runtime, pool, attribute):
    """Return (error, bytes) of a memory pool."""
    return answer(runtime.cudaMemPoolGetAttribute, c_uint64, first=(c_void_p(pool), attribute))


def pointer_range(driver, address, attribute):
    """Return (error, value) of an attribute of the allocation that contains `address`."""
    return answer(driver.cuPointerGetAttribute, c_uint64, attribute, c_uint64(address))


def driver_queries(driver, address):
    """Return the driver's queries by name; each returns (error, answer)."""
    return {
        "cuDriverGetVersion": lambda: answer(driver.cuDriverGetVersion, c_int),
        "cuDeviceGetCount": lambda: answer(driver.cuDeviceGetCount, c_int),
        "cuCtxGetCurrent": lambda: answer(driver.cuCtxGetCurrent, c_void_p),
        "cuCtxGetDevice": lambda: answer(driver.cuCtxGetDevice, c_int),
        "cuDevicePrimaryCtxGetState": lambda: primary_state(driver),
        "cuMemGetInfo_v2": lambda: memory(driver.cuMemGetInfo_v2),
        "cuPointerGetAttribute (range)": lambda: pointer_range(driver, address, RANGE_SIZE),
    }


def primary_state(driver):
    """Return (error, whether the primary context of device 0 is active)."""
    flags, active = c_int(), c_int()
    error = driver.cuDevicePrimaryCtxGetState(0, byref(flags), byref(active))
    return error, bool(active.value)


def guarded(runtime, query):
    """Ask as cyclewatch does: with no error pending, and in relaxed capture mode."""
    pending = runtime.cudaPeekAtLastError()
    if pending:
        return f"not asked: error {pending} is pending", None
    mode = c_int(RELAXED)
    error = runtime.cudaThreadExchangeStreamCaptureMode(byref(mode))
    value = None
    if not error:
        error, value = query()
        error = runtime.cudaThreadExchangeStreamCaptureMode(byref(mode)) or error
    if error:
        runtime.cudaGetLastError()
    return error, value


def problem():
    """Say why there is no usable device, or return an empty text. Initializes CUDA."""
    try:
        driver = load_driver()
    except OSError as error:
        return f"no NVIDIA driver: {error}".splitlines()[0]
    error = driver.cuInit(0)
    if error:
        return f"the NVIDIA driver does not start: cuInit() returned error {error}"
    error, count = answer(driver.cuDeviceGetCount, c_int)
    if error or not count:
        return f"the NVIDIA driver lists no device: error {error}, {count} devices"
    return ""


if __name__ == "__main__":
    print(problem())
