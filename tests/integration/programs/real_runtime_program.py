# SPDX-License-Identifier: Apache-2.0
"""Calls the real CUDA runtime: real_runtime_program.py LIBRARY MARK WHAT.

WHAT is a function of the runtime, or "watch": a watched program collects device memory. The decoy
driver (tests/simulated_runtime/decoy) creates the file MARK when it is loaded. Prints as JSON
whether MARK existed before the last call, the result of that call, and whether MARK exists
afterwards.
"""

import ctypes
import gc
import json
import os
import sys

ROOM = ctypes.create_string_buffer(8192)
SECOND = ctypes.c_size_t()
ARGUMENTS = {
    "cudaRuntimeGetVersion": (ROOM,),
    "cudaDriverGetVersion": (ROOM,),
    "cudaPeekAtLastError": (),
    "cudaGetLastError": (),
    "cudaGetDeviceCount": (ROOM,),
    "cudaThreadExchangeStreamCaptureMode": (ROOM,),
    "cudaMemGetInfo": (ROOM, ctypes.byref(SECOND)),
    "cudaPointerGetAttributes": (ROOM, ctypes.c_void_p(64)),
    "cudaGetDeviceProperties": (ROOM, 0),
    "cudaDeviceGetPCIBusId": (ROOM, 64, 0),
    "cudaDeviceGetDefaultMemPool": (ROOM, 0),
    "cudaMemPoolGetAttribute": (None, 5, ROOM),
    "cudaDeviceGetGraphMemAttribute": (0, 1, ROOM),
}


class Owner:
    """Registered as an owner of device memory; refers to itself."""

    def __init__(self):
        self.me = self


def collect_device_memory():
    """Collect garbage that looks like CUDA memory, and query everything."""
    import cyclewatch
    from cyclewatch import _native

    cyclewatch.register_owner(
        Owner, lambda owner: {"device": "cuda:0", "nbytes": 1 << 20, "data_ptr": id(owner)}
    )
    with cyclewatch.watch(devices="all", budget=1) as watch:
        Owner()
        gc.collect()
        assert _native.query_cuda()["responder"] == "none"
    report = watch.report()
    assert report.retained_bytes == 1 << 20
    assert report.device_records == []
    return len(report.findings)


def main(library, mark, what):
    runtime = ctypes.CDLL(library)
    before = os.path.exists(mark)
    if what == "watch":
        result = collect_device_memory()
    else:
        result = getattr(runtime, what)(*ARGUMENTS[what])
    print(json.dumps([before, result, os.path.exists(mark)]))


if __name__ == "__main__":
    main(*sys.argv[1:])
