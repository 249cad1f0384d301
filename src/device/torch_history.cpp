// SPDX-License-Identifier: Apache-2.0
#include "device/torch_history.h"

#include <Python.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "device/device_memory.h"
#include "device/readers/plain_attributes.h"
#include "device/readers/torch_functions.h"
#include "python/references.h"

namespace cyclewatch::device {
namespace {

using python::OwnedRef;
using python::steal;
using torch_api::imported;

// Calls a function of an imported module. Null if there is no such function, or if it raised.
OwnedRef call(const char* module_name, const char* name) noexcept {
    PyObject* const module = imported(module_name);
    const OwnedRef function = python::borrow(
        module != nullptr ? PyDict_GetItemString(PyModule_GetDict(module), name) : nullptr);
    return steal(function ? PyObject_CallNoArgs(function.get()) : nullptr);
}

std::optional<std::uint64_t> unsigned_number(PyObject* number) noexcept {
    if (number == nullptr || !PyLong_CheckExact(number)) {
        return std::nullopt;
    }
    const unsigned long long value = PyLong_AsUnsignedLongLong(number);
    if (PyErr_Occurred() != nullptr) {
        PyErr_Clear();
        return std::nullopt;
    }
    return value;
}

// torch may also record C++ frames, which have arbitrary paths.
bool is_python_file(std::string_view path) noexcept {
    return path.ends_with(".py") || path.starts_with('<');
}

base::CallSite site_of(PyObject* frames) {
    base::CallChoice choice;
    const Py_ssize_t count =
        frames != nullptr && PyList_CheckExact(frames) ? PyList_GET_SIZE(frames) : 0;
    for (Py_ssize_t i = 0; i < count; ++i) {
        PyObject* const frame = PyList_GET_ITEM(frames, i);
        const std::string_view path = utf8(entry(frame, "filename"));
        const std::optional<std::uint64_t> line = unsigned_number(entry(frame, "line"));
        if (line && is_python_file(path) &&
            !choice.offer({std::string(path), static_cast<std::uint32_t>(*line)})) {
            break;
        }
    }
    return choice.take();
}

// `freed` is null if the allocation was never freed.
bool matches(const CollectedStorage& storage,
             const MemoryEvent& allocated,
             const MemoryEvent* freed) {
    const std::int64_t begin = storage.unreachable.microseconds - kTimestampError;
    const std::int64_t end = storage.settled.microseconds + kTimestampError;
    if (allocated.bytes != storage.bytes ||
        allocated.microseconds > storage.unreachable.microseconds + kTimestampError) {
        return false;
    }
    if (!storage.released) {
        return freed == nullptr ||
               freed->microseconds >= storage.settled.microseconds - kTimestampError;
    }
    return freed != nullptr && freed->microseconds >= begin && freed->microseconds <= end;
}

// The recorded events at one address.
struct AddressHistory {
    std::vector<MemoryEvent> events;
    std::vector<PyObject*> entries;  // of the snapshot, one per event; borrowed
};

// The addresses to look up on one device.
using Addresses = std::unordered_map<std::uint64_t, AddressHistory>;

class Snapshot {
  public:
    explicit Snapshot(OwnedRef snapshot) : snapshot_(std::move(snapshot)) {
        PyObject* const traces = entry(snapshot_.get(), "device_traces");
        traces_ = traces != nullptr && PyList_CheckExact(traces) ? traces : nullptr;
    }

    // False if the snapshot has an unknown format.
    [[nodiscard]] bool usable() const noexcept { return traces_ != nullptr; }

    // Adds the events of `device` at `addresses`, in recorded order.
    void collect(int device, Addresses& addresses) const {
        if (device >= PyList_GET_SIZE(traces_)) {
            return;
        }
        PyObject* const trace = PyList_GET_ITEM(traces_, device);
        const Py_ssize_t count = PyList_CheckExact(trace) ? PyList_GET_SIZE(trace) : 0;
        for (Py_ssize_t i = 0; i < count; ++i) {
            PyObject* const event = PyList_GET_ITEM(trace, i);
            const auto address = unsigned_number(entry(event, "addr"));
            const auto found = address ? addresses.find(*address) : addresses.end();
            if (found != addresses.end()) {
                add(event, found->second);
            }
        }
    }

  private:
    void add(PyObject* event, AddressHistory& history) const {
        const std::string_view action = utf8(entry(event, "action"));
        const bool allocated = action == "alloc";
        // torch completes a free once no stream uses the memory anymore. All other actions concern
        // whole segments of the allocator.
        if (!allocated && action != "free_requested" && action != "free_completed") {
            return;
        }
        const auto bytes = unsigned_number(entry(event, "size"));
        // Older versions of torch do not record the time. Their events never match.
        constexpr std::uint64_t kNever = std::numeric_limits<std::int64_t>::max();
        const auto time = unsigned_number(entry(event, "time_us")).value_or(kNever);
        history.events.push_back(
            {allocated ? MemoryEvent::Kind::allocated : MemoryEvent::Kind::freed,
             bytes.value_or(0),
             static_cast<std::int64_t>(std::min(time, kNever))});
        history.entries.push_back(event);
    }

    OwnedRef snapshot_;
    PyObject* traces_ = nullptr;  // borrowed from snapshot_
};

std::vector<base::CallSite> sites_in(const Snapshot& snapshot,
                                     std::span<const CollectedStorage> storages) {
    std::unordered_map<int, Addresses> devices;
    for (const CollectedStorage& storage : storages) {
        devices[storage.device].try_emplace(storage.address);
    }
    for (auto& [device, addresses] : devices) {
        snapshot.collect(device, addresses);
    }
    std::vector<base::CallSite> sites(storages.size());
    for (std::size_t i = 0; i < storages.size(); ++i) {
        const AddressHistory& history = devices[storages[i].device][storages[i].address];
        const auto allocation = allocation_of(storages[i], history.events);
        if (allocation) {
            sites[i] = site_of(entry(history.entries[*allocation], "frames"));
        }
    }
    return sites;
}

// Clears the pending error unless it is an interrupt.
void note_failure(HistoryReading& reading) {
    PyObject* const error = PyErr_Occurred();
    if (error == nullptr) {
        reading.failure = "unknown snapshot format";
    } else if (PyErr_ExceptionMatches(PyExc_KeyboardInterrupt) != 0 ||
               PyErr_ExceptionMatches(PyExc_SystemExit) != 0) {
        reading.interrupted = true;
    } else {
        // Report only the exception type, because the message may contain the program's data.
        reading.failure =
            PyType_Check(error) != 0 ? reinterpret_cast<PyTypeObject*>(error)->tp_name : "an error";
        PyErr_Clear();
    }
}

// torch._C._cuda_memoryStats, borrowed. Null if a program has replaced the C function with a Python
// function.
PyObject* memory_stats_function() noexcept {
    PyObject* const native = imported("torch._C");
    PyObject* const function =
        native == nullptr ? nullptr
                          : PyDict_GetItemString(PyModule_GetDict(native), "_cuda_memoryStats");
    return function != nullptr && PyCFunction_CheckExact(function) ? function : nullptr;
}

// stats["allocated_bytes"]["all"]["current"], borrowed.
PyObject* current_allocated(PyObject* stats) noexcept {
    for (const char* const key : {"allocated_bytes", "all", "current"}) {
        stats = entry(stats, key);
    }
    return stats;
}

}  // namespace

std::optional<std::uint64_t> torch_allocated_bytes(int device) noexcept {
    std::optional<std::uint64_t> allocated;
    if (PyObject* const function = memory_stats_function()) {
        const OwnedRef number = steal(PyLong_FromLong(device));
        const OwnedRef stats =
            steal(number ? PyObject_CallOneArg(function, number.get()) : nullptr);
        allocated = unsigned_number(current_allocated(stats.get()));
    }
    PyErr_Clear();
    return allocated;
}

bool torch_records_history(int device) noexcept {
    // The flag is stored in the device's allocator, which must exist before the flag is queried.
    if (in_forked_child() || !torch_allocated_bytes(device)) {
        return false;
    }
    const OwnedRef enabled = call("torch._C", "_cuda_isHistoryEnabled");
    PyErr_Clear();  // allocators without history raise
    return enabled.get() == Py_True;
}

std::optional<std::size_t> allocation_of(const CollectedStorage& storage,
                                         std::span<const MemoryEvent> events) {
    std::optional<std::size_t> found;
    std::optional<std::size_t> open;  // the allocation that has not been freed yet
    bool ambiguous = false;
    const auto close = [&](const MemoryEvent* freed) {
        if (open && matches(storage, events[*open], freed)) {
            ambiguous = ambiguous || found.has_value();
            found = open;
        }
        open.reset();
    };
    for (std::size_t i = 0; i < events.size(); ++i) {
        if (events[i].kind == MemoryEvent::Kind::freed) {
            close(&events[i]);
        } else {
            open = i;  // drops an open allocation, because the time of its free is unknown
        }
    }
    close(nullptr);
    return ambiguous ? std::nullopt : found;
}

HistoryReading read_torch_history(std::span<const CollectedStorage> storages) {
    HistoryReading reading;
    reading.sites.resize(storages.size());
    const Snapshot snapshot(call("torch.cuda.memory", "_snapshot"));
    if (snapshot.usable()) {
        reading.sites = sites_in(snapshot, storages);
    } else {
        note_failure(reading);
    }
    return reading;
}

}  // namespace cyclewatch::device
