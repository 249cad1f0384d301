// SPDX-License-Identifier: Apache-2.0
// A simulated CUDA for machines without a GPU: shared libraries with the symbols of the real ones,
// a device heap in host memory, and injectable faults.
//
//   libcuda.so.1      the driver: contexts, the heap, faults and counters
//   libcudart.so.13   the runtime: last errors, and how often it had to initialize CUDA
//   libcudart.so.12   a second copy of the runtime, with its own state
//   libc10_cuda.so    torch's library, which depends on libcudart.so.12
//
// They include CUDA's headers, so that the compiler checks the signatures. As measured with the
// real runtime, every call except cudaRuntimeGetVersion() loads and initializes the driver.
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
    int piece_bytes = 0;    // size of the pieces that each allocation was mapped from; 0: one piece
    // Of the runtime:
    bool driver_too_old = false;
    int attribute_bytes = 88;   // size of cudaPointerAttributes: 24 before CUDA 13
    int property_bytes = 1008;  // size of cudaDeviceProp
};

struct Counters {
    int queries = 0;          // driver: calls that need a device; runtime: all calls
    int captures_broken = 0;  // queries in a capture mode that forbids them
    // Of the runtime:
    int drivers_loaded = 0;    // calls that load the driver
    int initializations = 0;   // calls that initialize CUDA
    int contexts_created = 0;  // calls that create the primary context
};

// `current` is the primary context; `other` was created by the driver API.
enum class Context : int { none, current, destroyed, other };

struct ThreadState {
    Context context = Context::none;
    int capture_mode = 0;  // CU_STREAM_CAPTURE_MODE_GLOBAL, the default of every thread
    int last_error = 0;    // of this copy of the runtime
};

// Each library has its own.
struct SimulatedCuda {
    Faults faults;
    Counters counters;
    bool initialized = false;     // cuInit() was called
    bool primary_active = false;  // the primary context of device 0 exists
    unsigned long long pool_reserved = 0;
    unsigned long long pool_used = 0;
    unsigned long long graphs_reserved = 0;
};

inline constexpr const char* kDeviceName = "Simulated GPU";
inline constexpr const char* kPciId = "0000:65:00.0";
inline constexpr unsigned char kUuidByte = 0x1f;  // each byte of the UUID

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
