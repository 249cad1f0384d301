// SPDX-License-Identifier: Apache-2.0
// torch's CUDA library: depends on one copy of the runtime.
#include <cuda_runtime_api.h>

#include <cstddef>

extern "C" cudaError_t cyclewatch_simulated_torch(std::size_t* free, std::size_t* total) {
    return cudaMemGetInfo(free, total);
}
