// SPDX-License-Identifier: Apache-2.0
// The simulated runtime: a last error per thread.
#include <cuda_runtime_api.h>

#include "simulated_cuda.h"

namespace {

namespace simulated = cyclewatch::simulated;

simulated::SimulatedCuda state;
thread_local simulated::ThreadState thread;

}  // namespace

extern "C" {

simulated::SimulatedCuda* cyclewatch_simulated_state() {
    return &state;
}
simulated::ThreadState* cyclewatch_simulated_thread() {
    return &thread;
}

cudaError_t cudaPeekAtLastError() {
    ++state.counters.queries;
    return static_cast<cudaError_t>(thread.last_error);
}

cudaError_t cudaGetLastError() {
    ++state.counters.queries;
    const int error = thread.last_error;
    thread.last_error = state.faults.sticky_error;
    return static_cast<cudaError_t>(error);
}

}  // extern "C"
