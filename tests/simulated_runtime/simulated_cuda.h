// SPDX-License-Identifier: Apache-2.0
// A simulated CUDA for machines without a GPU: two shared libraries with the symbols of the real
// ones, a device heap in host memory, and injectable faults.
//
//   libcuda.so.1      the driver: contexts, the heap, faults and counters
//   libcudart.so.13   the runtime: only its last error, which our code must not touch
//
// dlclose() discards all state. Not thread-safe, except that contexts and last errors are per
// thread, as in CUDA.
#pragma once

#include <cstddef>

namespace cyclewatch::simulated {

struct Faults {
    int devices = 1;
    bool device_lost = false;    // queries fail with CUDA_ERROR_LAUNCH_FAILED
    int sticky_error = 0;        // returned by every call, such as 700 (illegal address)
    bool out_of_memory = false;  // memory queries fail, other queries do not
    int capture_mode = -1;  // mode of a capture in progress: 0 global, 1 thread-local, 2 relaxed
};

struct Counters {
    int queries = 0;          // driver: calls that need a device; runtime: all calls
    int captures_broken = 0;  // queries in a capture mode that forbids them
};

enum class Context : int { none, current, destroyed };

struct ThreadState {
    Context context = Context::none;
    int capture_mode = 0;  // CU_STREAM_CAPTURE_MODE_GLOBAL, the default of every thread
    int last_error = 0;    // of the runtime
};

// Each library has its own.
struct SimulatedCuda {
    Faults faults;
    Counters counters;
    bool initialized = false;  // cuInit() was called
};

using StateFunction = SimulatedCuda*();
using ThreadFunction = ThreadState*();
// Allocates memory of `kind`, a CUmemorytype, on device 0.
using AllocateFunction = void*(std::size_t bytes, int kind, bool managed);
using ReleaseFunction = bool(void* memory);

}  // namespace cyclewatch::simulated

extern "C" {
cyclewatch::simulated::StateFunction cyclewatch_simulated_state;
cyclewatch::simulated::ThreadFunction cyclewatch_simulated_thread;
// Only in the driver:
cyclewatch::simulated::AllocateFunction cyclewatch_simulated_allocate;
cyclewatch::simulated::ReleaseFunction cyclewatch_simulated_release;
}
