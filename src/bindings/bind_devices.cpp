// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/text.h"
#include "bindings/bind.h"
#include "bindings/values.h"
#include "device/device_memory.h"
#include "device/device_records.h"

namespace cyclewatch::bindings {
namespace {

void bind_memory_breakdown(py::module_& module) {
    using Self = model::MemoryBreakdown;
    py::class_<Self, std::shared_ptr<Self>> added(
        module,
        "MemoryBreakdown",
        "What the memory of a CUDA device was used for, in bytes.\n\n"
        "The values of all attributes except `collection` add up to `DeviceRecord.total`.\n\n"
        "Examples:\n"
        "    >>> for record in report.device_records:\n"
        "    ...     if record.memory is not None:\n"
        "    ...         print(record.device, record.memory.dead, record.memory.free)");
    of_package(added)
        .def_readonly("collection",
                      &Self::collection,
                      "`Collection.number` of the collection before which the memory was divided "
                      "in this way; 0 in `DeviceRecord.memory_now`.")
        .def_readonly("live", &Self::live, "Allocated by torch, without `dead`.")
        .def_readonly("dead", &Self::dead, "Used by unreachable tensors.")
        .def_readonly(
            "torch_cache", &Self::torch_cache, "Reserved by torch's allocator but not allocated.")
        .def_readonly("pool_used",
                      &Self::pool_used,
                      "Allocated with `cudaMallocAsync()` by other libraries than torch.")
        .def_readonly(
            "pool_cache", &Self::pool_cache, "Reserved for `cudaMallocAsync()` but not allocated.")
        .def_readonly("graphs", &Self::graphs, "Reserved for allocations in captured graphs.")
        .def_readonly("other",
                      &Self::other,
                      "Everything else in use: CUDA contexts, allocations by other libraries, and "
                      "other processes.")
        .def_readonly("free", &Self::free, "Not in use.")
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
    py::class_<Self, std::shared_ptr<Self>> added(
        module,
        "DeviceRecord",
        "A CUDA device that contained unreachable tensors.\n\n"
        "Examples:\n"
        "    >>> for record in report.device_records:\n"
        "    ...     print(record.device, record.name, record.uuid, record.total)");
    of_package(added)
        .def_readonly("process", &Self::process, "Index of the process in `Report.processes`.")
        .def_readonly("device", &Self::device, "The device: 'cuda:0'.")
        .def_readonly("name", &Self::name, "The device's name: 'NVIDIA H100 80GB HBM3'.")
        .def_property_readonly(
            "uuid",
            text_or_none(&Self::uuid),
            "The UUID without the prefix that nvidia-smi prints; None if unknown.")
        .def_readonly("pci_id", &Self::pci_id, "The PCI id: '0000:65:00.0'.")
        .def_readonly("total", &Self::total, "Capacity in bytes.")
        .def_property_readonly("runtime_version",
                               int_or_none<0>(&Self::runtime_version),
                               "Version of the CUDA runtime: 13000 for CUDA 13.0. None if the "
                               "program uses only the driver API.")
        .def_readonly("driver_version",
                      &Self::driver_version,
                      "The newest CUDA version that the driver supports: 13010 for CUDA 13.1.")
        .def_property_readonly("error",
                               text_or_none(&Self::error),
                               "Name of the CUDA error that was pending before a collection: "
                               "'cudaErrorIllegalAddress'. None if there was none.")
        .def_property_readonly(
            "memory",
            part_or_none(&Self::memory),
            "What the memory was used for before the collection that freed the most; None if "
            "unknown.")
        .def_property_readonly(
            "memory_now",
            part_or_none(&Self::memory_now),
            "What the memory was used for when the report was created or the watch stopped; None "
            "if unknown. `dead` is 0: tensors that became unreachable after the last collection "
            "are part of `live`.")
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
}

}  // namespace cyclewatch::bindings
