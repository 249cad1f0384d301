// SPDX-License-Identifier: Apache-2.0
// A driver older than CUDA 10, without functions that are safe during a stream capture. Counts its
// calls.
#include <cuda.h>

namespace {
int calls = 0;
}

extern "C" {

int cyclewatch_simulated_old_driver_calls() {
    return calls;
}

CUresult cuInit(unsigned int) {
    ++calls;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int* count) {
    ++calls;
    *count = 1;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext* context) {
    ++calls;
    *context = nullptr;
    return CUDA_SUCCESS;
}

}  // extern "C"
