// SPDX-License-Identifier: Apache-2.0
// Simulated CUDA for machines without a GPU: shared libraries with the symbols that the product
// uses, a device heap in host memory, and configurable faults.
//
//   libcuda.so.1      the driver: contexts, the heap, every fault and every counter
//   libcudart.so.13   the runtime, which looks for the driver when it is called
//   libcudart.so.12   another copy with separate state: programs may load two
//   old/libcuda.so.1  a driver older than stream capture, without half of the functions
//
// Each library can be loaded alone; dlclose() discards its state. Not thread-safe, but contexts and
// last errors are per thread, as in CUDA.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cyclewatch::simulated {

struct Faults {
    int devices = 1;
    bool device_lost = false;     // every query fails with a sticky error
    int sticky_error = 0;         // such as 700, illegal address: every later call returns it
    bool driver_too_old = false;  // the runtime fails at every call
    bool out_of_memory = false;   // memory queries fail with an error that is not sticky
    int capture_mode = -1;        // of a running capture: 0 global, 1 thread, 2 relaxed; -1 none
    int runtime_version = 13000;  // result of cudaRuntimeGetVersion()
    std::uint64_t attribute_bytes =
        88;  // size of cudaPointerAttributes: 24 before CUDA 13, then 88
};

// Numbers of queries and of forbidden side effects.
struct Counters {
    int questions = 0;         // calls that query the device
    int contexts_created = 0;  // by the runtime, because no active context was current
    int initialisations = 0;   // by the runtime, because cuInit() had not been called
    int drivers_wanted = 0;    // the runtime would have loaded a driver
    int captures_broken = 0;   // queries in a mode that forbids them
};

enum class Context : int { none, primary, other, destroyed };

// State of a thread.
struct ThreadState {
    Context context = Context::none;
    int capture_mode = 0;  // cudaStreamCaptureModeGlobal, the default
    int last_error = 0;    // of the runtime
};

// Each library has one. The driver's applies to all runtimes; the runtime's contains its version,
// the size of its structure, its last errors and its counters.
struct SimulatedCuda {
    Faults faults;
    Counters counters;
    bool initialised = false;     // cuInit() was called
    bool primary_active = false;  // the primary context of device 0 exists
};

using StateFunction = SimulatedCuda*();
using ThreadFunction = ThreadState*();
// Allocate and free memory of `kind`, a CUmemorytype, on device 0.
using AllocateFunction = void*(std::size_t bytes, int kind, bool managed);
using ReleaseFunction = bool(void* memory);

}  // namespace cyclewatch::simulated

extern "C" {
cyclewatch::simulated::StateFunction cyclewatch_simulated_state;
cyclewatch::simulated::ThreadFunction cyclewatch_simulated_thread;
// Only in the driver.
cyclewatch::simulated::AllocateFunction cyclewatch_simulated_allocate;
cyclewatch::simulated::ReleaseFunction cyclewatch_simulated_release;
}
