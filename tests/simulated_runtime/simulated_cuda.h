// SPDX-License-Identifier: Apache-2.0
// A CUDA of ours for machines without a GPU: two shared libraries with the symbols that we take
// from the real ones, a device heap in host memory, and faults to switch on.
//
//   libcuda.so.1      the driver: contexts, the heap, every fault and every counter
//   libcudart.so.13   the runtime: finds the driver at its first call, as the real one does
//   libcudart.so.12   the same once more, with a state of its own: programs load two
//   old/libcuda.so.1  a driver from before stream capture, without half of the functions
//
// Both can be opened alone. Nothing is kept across dlclose(). Not for several threads at once,
// except that contexts and last errors belong to threads, as they do in CUDA.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cyclewatch::simulated {

struct Faults {
    int devices = 1;
    bool device_lost = false;  // every question fails with a sticky error
    int sticky_error = 0;      // as 700 after a kernel's wild write: every call says it, for ever
    bool driver_too_old = false;  // for this runtime, which says so at every call
    bool out_of_memory = false;   // memory questions fail with an error that is not sticky
    int capture_mode = -1;        // a capture runs: 0 global, 1 of the thread, 2 relaxed; -1 none
    int runtime_version = 13000;  // what the runtime says of itself
    std::uint64_t attribute_bytes = 88;  // what it writes: 24 before CUDA 13, 88 from there on
};

// What must not happen, and how often anything did.
struct Counters {
    int questions = 0;         // calls that look at the device
    int contexts_created = 0;  // by the runtime, because none was current and active
    int initialisations = 0;   // by the runtime, because nobody had called cuInit()
    int drivers_wanted = 0;    // times that the runtime would have loaded a driver
    int captures_broken = 0;   // questions asked in a mode that forbids them
};

enum class Context : int { none, primary, other, destroyed };

// What belongs to a thread.
struct ThreadState {
    Context context = Context::none;
    int capture_mode = 0;  // cudaStreamCaptureModeGlobal, where every thread begins
    int last_error = 0;    // of the runtime
};

// Each library has one of its own. The driver's holds what is the same for all runtimes; the
// runtime's holds its version, its structure's size, its last errors and what it wanted.
struct SimulatedCuda {
    Faults faults;
    Counters counters;
    bool initialised = false;     // cuInit() was called
    bool primary_active = false;  // the primary context of device 0 exists
};

using StateFunction = SimulatedCuda*();
using ThreadFunction = ThreadState*();
// Memory of `kind`, a CUmemorytype, on device 0; and its end.
using AllocateFunction = void*(std::size_t bytes, int kind, bool managed);
using ReleaseFunction = bool(void* memory);

}  // namespace cyclewatch::simulated

extern "C" {
cyclewatch::simulated::StateFunction cyclewatch_simulated_state;
cyclewatch::simulated::ThreadFunction cyclewatch_simulated_thread;
// The driver's alone.
cyclewatch::simulated::AllocateFunction cyclewatch_simulated_allocate;
cyclewatch::simulated::ReleaseFunction cyclewatch_simulated_release;
}
