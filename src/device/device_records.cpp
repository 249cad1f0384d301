// SPDX-License-Identifier: Apache-2.0
#include "device/device_records.h"

#include <Python.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "device/readers/plain_attributes.h"
#include "device/readers/torch_functions.h"
#include "python/references.h"

namespace cyclewatch::device {
namespace {

using python::OwnedRef;
using python::steal;

// A C function of torch._C, borrowed. Null if a program has replaced it with a Python function.
PyObject* native_function(const char* name) noexcept {
    PyObject* const native = torch_api::imported("torch._C");
    PyObject* const function =
        native == nullptr ? nullptr : PyDict_GetItemString(PyModule_GetDict(native), name);
    return function != nullptr && PyCFunction_CheckExact(function) ? function : nullptr;
}

// stats[key]["all"][kind].
std::optional<std::uint64_t> statistic(PyObject* stats,
                                       const char* key,
                                       const char* kind) noexcept {
    for (const char* const each : {key, "all", kind}) {
        stats = entry(stats, each);
    }
    const std::optional<std::int64_t> value = integer(stats);
    return value && *value >= 0 ? std::optional(static_cast<std::uint64_t>(*value)) : std::nullopt;
}

bool torch_uses_cuda_pool() noexcept {
    PyObject* const function = native_function("_cuda_getAllocatorBackend");
    const OwnedRef backend = steal(function == nullptr ? nullptr : PyObject_CallNoArgs(function));
    return utf8(backend.get()) == "cudaMallocAsync";
}

// Returns at most `wanted`, and subtracts the result from `rest`.
std::uint64_t take(std::uint64_t& rest, std::uint64_t wanted) noexcept {
    const std::uint64_t taken = std::min(rest, wanted);
    rest -= taken;
    return taken;
}

std::uint64_t difference(std::uint64_t larger, std::uint64_t smaller) noexcept {
    return larger - std::min(larger, smaller);
}

}  // namespace

std::optional<model::DeviceRecord> describe_device(DeviceQueries& cuda, int device) {
    std::optional<DeviceFacts> facts = cuda.device_facts(device);
    if (!facts) {
        return std::nullopt;
    }
    model::DeviceRecord record;
    record.device = "cuda:" + std::to_string(device);
    record.name = std::move(facts->name);
    record.uuid = std::move(facts->uuid);
    record.pci_id = std::move(facts->pci_id);
    record.total = facts->total;
    record.runtime_version = facts->runtime_version;
    record.driver_version = facts->driver_version;
    return record;
}

std::optional<TorchMemory> torch_memory(int device) noexcept {
    PyObject* const function = native_function("_cuda_memoryStats");
    const OwnedRef number = steal(function == nullptr ? nullptr : PyLong_FromLong(device));
    const OwnedRef stats = steal(number ? PyObject_CallOneArg(function, number.get()) : nullptr);
    const auto allocated = statistic(stats.get(), "allocated_bytes", "current");
    const auto reserved = statistic(stats.get(), "reserved_bytes", "current");
    std::optional<TorchMemory> memory;
    if (allocated && reserved) {
        memory = {.allocated = *allocated,
                  .reserved = *reserved,
                  .peak = statistic(stats.get(), "allocated_bytes", "peak").value_or(0),
                  .uses_cuda_pool = torch_uses_cuda_pool()};
    }
    PyErr_Clear();
    return memory;
}

model::MemoryBreakdown break_down(const MemoryInUse& memory) noexcept {
    const TorchMemory torch = memory.torch.value_or(TorchMemory{});
    ReservedMemory pool = memory.reserved;
    if (torch.uses_cuda_pool) {  // torch's memory is part of the pool
        pool.pool_reserved = difference(pool.pool_reserved, torch.reserved);
        pool.pool_used = std::min(difference(pool.pool_used, torch.allocated), pool.pool_reserved);
    }
    const std::uint64_t live = difference(torch.allocated, memory.allocated_by_torch);
    const std::uint64_t cached = difference(torch.reserved, torch.allocated);
    // The sources are queried one after the other, and other processes may allocate in between. No
    // part may exceed what is left of the total.
    model::MemoryBreakdown parts;
    std::uint64_t rest = memory.cuda.total;
    parts.dead = take(rest, memory.dead);
    parts.live = take(rest, live);
    parts.torch_cache = take(rest, difference(cached, memory.freed_to_torch));
    parts.pool_used = take(rest, pool.pool_used);
    parts.pool_cache = take(rest, difference(pool.pool_reserved, pool.pool_used));
    parts.graphs = take(rest, pool.graphs);
    parts.free = take(rest, memory.cuda.free);
    parts.other = rest;
    return parts;
}

std::optional<model::MemoryBreakdown> measure_device(DeviceQueries& cuda,
                                                     int device,
                                                     std::uint64_t dead,
                                                     const model::DeviceMemory* sample) noexcept {
    const std::optional<FreeMemory> free = cuda.current_device_memory();
    if (!free || free->device != device) {
        return std::nullopt;
    }
    MemoryInUse memory{.cuda = *free,
                       .torch = torch_memory(device),
                       .reserved = cuda.reserved_memory(device).value_or(ReservedMemory{}),
                       .dead = dead};
    if (sample == nullptr) {
        memory.allocated_by_torch = memory.torch ? dead : 0;
    } else if (sample->source == model::MemorySource::torch) {
        memory.freed_to_torch = std::min(dead, difference(sample->used_before, sample->used_after));
    } else {
        // The collection has returned the memory to CUDA.
        memory.cuda.free = difference(memory.cuda.total, sample->used_before);
    }
    return break_down(memory);
}

}  // namespace cyclewatch::device
