// SPDX-License-Identifier: Apache-2.0
// Sends the queries of src/device/cuda_runtime.cpp to the linked CUDA runtime during stream captures
// of each mode, and checks that the captured graph is complete and computes the right result.
// Exit status: 0 if all checks passed, 1 if one failed, 77 if there is no usable device.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

namespace {

constexpr int kNumbers = 1 << 20;

__global__ void add_one(int* numbers) {
    const int index = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (index < kNumbers) {
        ++numbers[index];
    }
}

void check(cudaError_t error, const char* what) {
    if (error != cudaSuccess) {
        std::printf("%s: %s\n", what, cudaGetErrorName(error));
        std::exit(1);
    }
}

void launch(int* numbers, cudaStream_t stream) {
    add_one<<<kNumbers / 256, 256, 0, stream>>>(numbers);
    check(cudaGetLastError(), "launch");
}

// With the capture mode set to relaxed, no query may invalidate the capture.
void query(const int* numbers) {
    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    check(cudaThreadExchangeStreamCaptureMode(&mode), "relax the capture mode");
    std::size_t free = 0;
    std::size_t total = 0;
    check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
    cudaPointerAttributes attributes{};
    check(cudaPointerGetAttributes(&attributes, numbers), "cudaPointerGetAttributes");
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties");
    char pci_id[64] = "";
    check(cudaDeviceGetPCIBusId(pci_id, sizeof pci_id, 0), "cudaDeviceGetPCIBusId");
    cudaMemPool_t pool = nullptr;
    check(cudaDeviceGetDefaultMemPool(&pool, 0), "cudaDeviceGetDefaultMemPool");
    unsigned long long reserved = 0;
    check(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &reserved),
          "cudaMemPoolGetAttribute");
    unsigned long long graphs = 0;
    check(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrReservedMemCurrent, &graphs),
          "cudaDeviceGetGraphMemAttribute");
    check(cudaThreadExchangeStreamCaptureMode(&mode), "restore the capture mode");
    if (attributes.type != cudaMemoryTypeDevice || total == 0 || properties.name[0] == '\0') {
        std::printf("a query returned a wrong result\n");
        std::exit(1);
    }
}

void capture(cudaStreamCaptureMode mode, int* numbers, cudaStream_t stream) {
    check(cudaMemsetAsync(numbers, 0, kNumbers * sizeof(int), stream), "cudaMemsetAsync");
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    check(cudaStreamBeginCapture(stream, mode), "cudaStreamBeginCapture");
    launch(numbers, stream);
    query(numbers);
    launch(numbers, stream);
    cudaGraph_t graph = nullptr;
    check(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
    cudaGraphExec_t runnable = nullptr;
    check(cudaGraphInstantiate(&runnable, graph, 0), "cudaGraphInstantiate");
    check(cudaGraphLaunch(runnable, stream), "cudaGraphLaunch");
    int last = 0;
    check(cudaMemcpyAsync(&last,
                          numbers + kNumbers - 1,
                          sizeof last,
                          cudaMemcpyDeviceToHost,
                          stream),
          "cudaMemcpyAsync");
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    check(cudaGraphExecDestroy(runnable), "cudaGraphExecDestroy");
    check(cudaGraphDestroy(graph), "cudaGraphDestroy");
    if (last != 2) {
        std::printf("the captured graph computed %d instead of 2\n", last);
        std::exit(1);
    }
}

}  // namespace

int main() {
    int* numbers = nullptr;
    if (const cudaError_t error = cudaMalloc(&numbers, kNumbers * sizeof(int));
        error != cudaSuccess) {
        std::printf("no usable device: %s\n", cudaGetErrorName(error));
        return 77;
    }
    cudaStream_t stream = nullptr;
    check(cudaStreamCreate(&stream), "cudaStreamCreate");
    for (const auto mode : {cudaStreamCaptureModeGlobal,
                            cudaStreamCaptureModeThreadLocal,
                            cudaStreamCaptureModeRelaxed}) {
        capture(mode, numbers, stream);
    }
    check(cudaStreamDestroy(stream), "cudaStreamDestroy");
    check(cudaFree(numbers), "cudaFree");
    std::printf("all queries passed\n");
    return 0;
}
