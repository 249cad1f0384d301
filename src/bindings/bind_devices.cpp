// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/text.h"
#include "bindings/bind.h"
#include "bindings/bind_fields.h"
#include "bindings/values.h"
#include "device/device_memory.h"
#include "device/device_records.h"
#include "device/heap_use.h"

namespace cyclewatch::bindings {
namespace {

void bind_memory_breakdown(py::module_& module) {
    using Self = model::MemoryBreakdown;
    add_struct<Self>(module,
                     "Examples:\n"
                     "    >>> for record in report.device_records:\n"
                     "    ...     if record.memory is not None:\n"
                     "    ...         print(record.device, record.memory.dead, record.memory.free)")
        .def("__repr__", [](const Self& self) {
            return "<MemoryBreakdown" +
                   (self.collection == 0 ? ""
                                         : " of collection " + std::to_string(self.collection)) +
                   ": " + base::format_bytes(self.dead) + " dead, " +
                   base::format_bytes(self.free) + " free>";
        });
}

void bind_device_record(py::module_& module) {
    using Self = model::DeviceRecord;
    add_struct<Self>(module,
                     "Examples:\n"
                     "    >>> for record in report.device_records:\n"
                     "    ...     print(record.device, record.name, record.uuid, record.total)")
        .def("__repr__", [](const Self& self) {
            return "<DeviceRecord of " + quoted(self.device) + ": " + self.name + ", " +
                   base::format_bytes(self.total) + ">";
        });
}

const char* name_of(device::Responder responder) {
    switch (responder) {
        case device::Responder::runtime:
            return "runtime";
        case device::Responder::driver:
            return "driver";
        case device::Responder::none:
            break;
    }
    return "none";
}

const char* name_of(device::MemoryKind kind) {
    switch (kind) {
        case device::MemoryKind::device:
            return "device";
        case device::MemoryKind::host:
            return "host";
        case device::MemoryKind::unregistered:
            break;
    }
    return "unregistered";
}

// Every query of device_memory.h, with None for a query without an answer.
py::dict query_cuda(std::uint64_t address, int index) {
    device::DeviceQueries& cuda = device::process_queries();
    py::dict answers;
    answers["responder"] = name_of(cuda.responder());
    answers["pending_error"] = cuda.pending_error();
    answers["accelerator_usable"] = cuda.accelerator_usable();
    for (const char* key : {"memory", "reserved", "device", "address", "allocation"}) {
        answers[key] = py::none();
    }
    if (const auto memory = cuda.current_device_memory()) {
        answers["memory"] = py::dict(py::arg("device") = memory->device,
                                     py::arg("free") = memory->free,
                                     py::arg("total") = memory->total);
    }
    if (const auto reserved = cuda.reserved_memory(index)) {
        answers["reserved"] = py::dict(py::arg("pool_reserved") = reserved->pool_reserved,
                                       py::arg("pool_used") = reserved->pool_used,
                                       py::arg("graphs") = reserved->graphs);
    }
    if (const auto facts = cuda.device_facts(index)) {
        answers["device"] = py::dict(py::arg("name") = facts->name,
                                     py::arg("uuid") = facts->uuid,
                                     py::arg("pci_id") = facts->pci_id,
                                     py::arg("total") = facts->total,
                                     py::arg("runtime_version") = facts->runtime_version,
                                     py::arg("driver_version") = facts->driver_version);
    }
    if (const auto facts = cuda.pointer_facts(address)) {
        answers["address"] =
            py::dict(py::arg("kind") = name_of(facts->kind), py::arg("device") = facts->device);
    }
    if (const auto range = cuda.allocation_at(address)) {
        answers["allocation"] =
            py::dict(py::arg("start") = range->start, py::arg("bytes") = range->bytes);
    }
    return answers;
}

// The device now, of which unreachable tensors use `dead` bytes. Null if it cannot be queried.
std::shared_ptr<model::DeviceRecord> device_record(int index, std::uint64_t dead) {
    device::DeviceQueries& cuda = device::process_queries();
    std::optional<model::DeviceRecord> record = device::describe_device(cuda, index);
    if (!record) {
        return nullptr;
    }
    record->memory = device::measure_device(cuda, index, dead, nullptr);
    return std::make_shared<model::DeviceRecord>(*std::move(record));
}

std::optional<std::pair<std::uint64_t, std::uint64_t>> shared_heap() {
    const std::optional<device::SharedHeap> heap = device::shared_heap();
    return heap ? std::optional(std::pair(heap->allocated, heap->free)) : std::nullopt;
}

}  // namespace

void bind_devices(py::module_& module) {
    bind_memory_breakdown(module);
    bind_device_record(module);
    module.def("query_cuda",
               &query_cuda,
               py::arg("address") = 0,
               py::arg("device") = 0,
               Locked(),
               "The answers to all CUDA queries on the calling thread, for tests on a device.");
    module.def("device_record",
               &device_record,
               py::arg("device"),
               py::arg("dead"),
               Locked(),
               "Describes a CUDA device, of which unreachable tensors use `dead` bytes. None if "
               "CUDA must not be queried on this thread, or the program has not used the device. "
               "`memory` is None if another device is current.");
    module.def("shared_heap",
               &shared_heap,
               Locked(),
               "The allocated and the free bytes of the heap that blocks of malloc() share; None "
               "if unknown.");
}

}  // namespace cyclewatch::bindings
