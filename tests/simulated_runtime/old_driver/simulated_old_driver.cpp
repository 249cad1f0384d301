// SPDX-License-Identifier: Apache-2.0
// A driver from before CUDA 10: there is a context, and no way to look at memory that a stream
// capture would survive. It counts the calls it gets.
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
