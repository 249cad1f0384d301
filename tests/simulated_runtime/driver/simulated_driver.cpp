// SPDX-License-Identifier: Apache-2.0
// The simulated driver: contexts, capture modes, and a device heap in host memory.
#include <cuda.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

#include "simulated_cuda.h"

namespace {

namespace simulated = cyclewatch::simulated;
using simulated::Context;

constexpr std::size_t kDeviceBytes = std::size_t{1} << 30;

struct Allocation {
    std::size_t bytes;
    int kind;
    bool managed;
};

simulated::SimulatedCuda state;
thread_local simulated::ThreadState thread;

std::map<CUdeviceptr, Allocation>& heap() {
    static std::map<CUdeviceptr, Allocation> allocations;
    return allocations;
}

const Allocation* find(CUdeviceptr address) {
    auto after = heap().upper_bound(address);
    if (after == heap().begin()) {
        return nullptr;
    }
    const auto& [start, allocation] = *--after;
    return address < start + allocation.bytes ? &allocation : nullptr;
}

struct Piece {
    CUdeviceptr start;
    std::size_t bytes;
};

// The part of `allocation` that contains `address`.
Piece piece_at(CUdeviceptr address, const Allocation& allocation) {
    const CUdeviceptr start = (--heap().upper_bound(address))->first;
    const auto size = static_cast<std::size_t>(state.faults.piece_bytes);
    if (size == 0) {
        return {start, allocation.bytes};
    }
    return {start + (address - start) / size * size, size};
}

std::size_t used_bytes() {
    std::size_t used = 0;
    for (const auto& [start, allocation] : heap()) {
        used += allocation.kind == CU_MEMORYTYPE_DEVICE ? allocation.bytes : 0;
    }
    return used;
}

// The checks that every query of the memory makes.
CUresult begin_query(bool needs_context = true) {
    ++state.counters.queries;
    if (!state.initialized) {
        return CUDA_ERROR_NOT_INITIALIZED;
    }
    if (needs_context && thread.context == Context::none) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    if (needs_context && thread.context == Context::destroyed) {
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    }
    const bool strict_capture = state.faults.capture_mode == CU_STREAM_CAPTURE_MODE_GLOBAL ||
                                state.faults.capture_mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
    if (strict_capture && thread.capture_mode != CU_STREAM_CAPTURE_MODE_RELAXED) {
        ++state.counters.captures_broken;
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    if (state.faults.sticky_error != 0) {
        return static_cast<CUresult>(state.faults.sticky_error);
    }
    return state.faults.device_lost ? CUDA_ERROR_LAUNCH_FAILED : CUDA_SUCCESS;
}

}  // namespace

extern "C" {

simulated::SimulatedCuda* cyclewatch_simulated_state() {
    return &state;
}
simulated::ThreadState* cyclewatch_simulated_thread() {
    return &thread;
}

void* cyclewatch_simulated_allocate(std::size_t bytes, int kind, bool managed) {
    void* memory = std::malloc(bytes);
    heap().emplace(reinterpret_cast<CUdeviceptr>(memory), Allocation{bytes, kind, managed});
    return memory;
}

bool cyclewatch_simulated_release(void* memory) {
    const bool known = heap().erase(reinterpret_cast<CUdeviceptr>(memory)) == 1;
    if (known) {
        std::free(memory);
    }
    return known;
}

CUresult cuInit(unsigned int) {
    state.initialized = true;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int* count) {
    if (!state.initialized) {
        return CUDA_ERROR_NOT_INITIALIZED;
    }
    *count = state.faults.devices;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext* context) {
    if (!state.initialized) {
        return CUDA_ERROR_NOT_INITIALIZED;
    }
    *context = thread.context == Context::none ? nullptr : reinterpret_cast<CUcontext>(&thread);
    return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice* device) {
    if (thread.context == Context::none) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    if (thread.context == Context::destroyed) {
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    }
    *device = 0;
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned int* flags, int* active) {
    if (!state.initialized) {
        return CUDA_ERROR_NOT_INITIALIZED;
    }
    *flags = 0;
    *active = device == 0 && state.primary_active ? 1 : 0;
    return CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int* version) {
    *version = 13010;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char* name, int room, CUdevice) {
    std::snprintf(name, static_cast<std::size_t>(room), "%s", simulated::kDeviceName);
    return state.initialized ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

CUresult cuDeviceGetPCIBusId(char* text, int room, CUdevice) {
    std::snprintf(text, static_cast<std::size_t>(room), "%s", simulated::kPciId);
    return state.initialized ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

CUresult cuDeviceTotalMem_v2(std::size_t* bytes, CUdevice) {
    *bytes = kDeviceBytes;
    return state.initialized ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice) {
    std::memset(uuid, simulated::kUuidByte, sizeof *uuid);
    return state.initialized ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* pool, CUdevice) {
    *pool = reinterpret_cast<CUmemoryPool>(&state);
    return state.initialized ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

CUresult cuMemPoolGetAttribute(CUmemoryPool, CUmemPool_attribute attribute, void* value) {
    const CUresult begun = begin_query(false);
    if (begun != CUDA_SUCCESS) {
        return begun;
    }
    *static_cast<cuuint64_t*>(value) =
        attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT ? state.pool_reserved : state.pool_used;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetGraphMemAttribute(CUdevice, CUgraphMem_attribute, void* value) {
    const CUresult begun = begin_query(false);
    if (begun == CUDA_SUCCESS) {
        *static_cast<cuuint64_t*>(value) = state.graphs_reserved;
    }
    return begun;
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
    const int before = thread.capture_mode;
    thread.capture_mode = *mode;
    *mode = static_cast<CUstreamCaptureMode>(before);
    return CUDA_SUCCESS;
}

CUresult cuPointerGetAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr address) {
    const CUresult begun = begin_query();
    if (begun != CUDA_SUCCESS) {
        return begun;
    }
    const Allocation* allocation = find(address);
    if (allocation == nullptr) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    switch (attribute) {
        case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
            *static_cast<unsigned int*>(data) = static_cast<unsigned int>(allocation->kind);
            return CUDA_SUCCESS;
        case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
            *static_cast<int*>(data) = 0;
            return CUDA_SUCCESS;
        case CU_POINTER_ATTRIBUTE_IS_MANAGED:
            *static_cast<unsigned int*>(data) = allocation->managed ? 1 : 0;
            return CUDA_SUCCESS;
        case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
            *static_cast<CUdeviceptr*>(data) = piece_at(address, *allocation).start;
            return CUDA_SUCCESS;
        case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
            *static_cast<std::size_t*>(data) = piece_at(address, *allocation).bytes;
            return CUDA_SUCCESS;
        default:
            return CUDA_ERROR_NOT_SUPPORTED;
    }
}

CUresult cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
    const CUresult begun = begin_query();
    if (begun != CUDA_SUCCESS) {
        return begun;
    }
    if (state.faults.out_of_memory) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *total = kDeviceBytes;
    *free = kDeviceBytes - used_bytes();
    return CUDA_SUCCESS;
}

// The unsuffixed function has 32-bit sizes.
#undef cuMemGetInfo
CUresult cuMemGetInfo(unsigned int* free, unsigned int* total) {
    *free = 0;
    *total = 1;
    return CUDA_SUCCESS;
}

}  // extern "C"
