# SPDX-License-Identifier: Apache-2.0
"""Device 0 through ctypes, with memory, a stream, and CUDA graphs."""

import ctypes
from ctypes import byref, c_int, c_size_t, c_ulonglong, c_void_p

import support
from probes import cuda_api as cuda

CAPTURE_MODES = {"global": 0, "thread_local": 1, "relaxed": 2}
NON_BLOCKING = 1
TO_HOST = 2


class CaptureLostError(Exception):
    """The capture did not become a graph."""


class Device:
    """The runtime's context on device 0, with `memory` of SIZE bytes on it."""

    SIZE = 1 << 20

    def __init__(self):
        path = cuda.runtime_path()
        if path is None:
            raise support.MissingError("no CUDA runtime (libcudart) found")
        self.runtime = ctypes.CDLL(path)
        self.driver = cuda.load_driver()
        self.memory = self.allocate(self.SIZE)
        stream = c_void_p()
        self.check(self.runtime.cudaStreamCreateWithFlags(byref(stream), NON_BLOCKING))
        self.stream = stream
        error, self.pool = cuda.default_pool(self.runtime, "cudaDeviceGetDefaultMemPool")
        self.check(error)

    def check(self, error):
        """Raise an exception for an error number."""
        if error:
            self.runtime.cudaGetLastError()
            raise RuntimeError(f"CUDA error {error}")

    def allocate(self, size):
        """Allocate memory with cudaMalloc()."""
        address = c_void_p()
        self.check(self.runtime.cudaMalloc(byref(address), c_size_t(size)))
        return address.value

    def allocate_from_pool(self, size):
        """Allocate memory with cudaMallocAsync(), and wait for it."""
        address = c_void_p()
        self.check(self.runtime.cudaMallocAsync(byref(address), c_size_t(size), self.stream))
        self.synchronize()
        return address.value

    def fill(self, offset, value, size):
        """Fill a part of the memory, on the stream."""
        self.check(
            self.runtime.cudaMemsetAsync(
                c_void_p(self.memory + offset), c_int(value), c_size_t(size), self.stream
            )
        )

    def contents(self, size):
        """Return the first `size` bytes of the memory."""
        data = ctypes.create_string_buffer(size)
        self.check(
            self.runtime.cudaMemcpy(data, c_void_p(self.memory), c_size_t(size), c_int(TO_HOST))
        )
        return data.raw

    def keep_busy(self):
        """Queue about a tenth of a second of work."""
        if not hasattr(self, "large"):
            self.large = self.allocate(256 << 20)
        for _ in range(500):
            self.check(
                self.runtime.cudaMemsetAsync(
                    c_void_p(self.large), c_int(1), c_size_t(256 << 20), self.stream
                )
            )

    def working(self):
        """Return whether queued work is unfinished."""
        return self.runtime.cudaStreamQuery(self.stream) != cuda.SUCCESS

    def synchronize(self):
        """Wait for the stream."""
        self.check(self.runtime.cudaStreamSynchronize(self.stream))

    def captured(self, mode, between):
        """Capture two fills with a call of `between` in the middle.

        Returns whether the graph computes the right bytes, and what `between` returned; raises
        CaptureLostError if there is no graph.
        """
        half = 512
        self.fill(0, 0, 2 * half)
        self.synchronize()
        runtime, graph, executable = self.runtime, c_void_p(), c_void_p()
        self.check(runtime.cudaStreamBeginCapture(self.stream, CAPTURE_MODES[mode]))
        try:
            self.fill(0, 7, half)
            result = between()
            runtime.cudaMemsetAsync(c_void_p(self.memory + half), 9, c_size_t(half), self.stream)
        finally:
            error = runtime.cudaStreamEndCapture(self.stream, byref(graph))
            runtime.cudaGetLastError()
        if error or not graph.value:
            raise CaptureLostError(result)
        self.check(runtime.cudaGraphInstantiate(byref(executable), graph, c_ulonglong(0)))
        self.check(runtime.cudaGraphLaunch(executable, self.stream))
        self.synchronize()
        right = self.contents(2 * half) == b"\7" * half + b"\t" * half
        runtime.cudaGraphExecDestroy(executable)
        runtime.cudaGraphDestroy(graph)
        return right, result
