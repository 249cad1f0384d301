// SPDX-License-Identifier: Apache-2.0
#include "device/readers/registered.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "python/deferred_exceptions.h"
#include "python/forced_unwind.h"

namespace cyclewatch::device {
namespace {

using python::OwnedRef;

constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 48;  // the sum of 65,535 fits into 64 bits
constexpr Py_ssize_t kMaxDimensions = 64;
constexpr Py_ssize_t kMaxCharacters = 1000;

// Clears the pending error, if any, because a text or shape that cannot be read is merely omitted.
void clear_error() {
    if (PyErr_Occurred() != nullptr && !python::defer_exception()) {
        PyErr_Clear();
    }
}

std::string text_of(PyObject* object) {
    const OwnedRef text =
        python::steal(python::let_others_run([&] { return PyObject_Str(object); }));
    const bool is_long = text && PyUnicode_GET_LENGTH(text.get()) > kMaxCharacters;
    const OwnedRef beginning =
        is_long ? python::steal(PyUnicode_Substring(text.get(), 0, kMaxCharacters)) : OwnedRef();
    const OwnedRef& shown = is_long ? beginning : text;
    const char* const data = shown ? PyUnicode_AsUTF8(shown.get()) : nullptr;
    clear_error();
    return data == nullptr ? std::string() : std::string(data) + (is_long ? "..." : "");
}

// Returns a new reference, because str() of the value may run Python code that changes the dict.
OwnedRef field(PyObject* result, const char* name) {
    OwnedRef value = python::borrow(PyDict_GetItemString(result, name));
    return value.get() == Py_None ? OwnedRef() : std::move(value);
}

// The first items of the iterable `shape`, as a list; null if it is not iterable.
OwnedRef dimensions_of(PyObject* shape) {
    OwnedRef list = python::steal(PyList_New(0));
    const OwnedRef iterator =
        python::steal(python::let_others_run([&] { return PyObject_GetIter(shape); }));
    if (!list || !iterator) {
        return {};
    }
    while (PyList_GET_SIZE(list.get()) < kMaxDimensions) {
        const OwnedRef item =
            python::steal(python::let_others_run([&] { return PyIter_Next(iterator.get()); }));
        if (!item || PyList_Append(list.get(), item.get()) != 0) {
            break;
        }
    }
    return PyErr_Occurred() == nullptr ? std::move(list) : OwnedRef();
}

std::string shape_of(PyObject* shape) {
    const OwnedRef dimensions = PyUnicode_Check(shape) ? OwnedRef() : dimensions_of(shape);
    clear_error();
    return text_of(dimensions ? dimensions.get() : shape);
}

// Copies the fields of a reader's result to `reading`. Returns a description of the problem if the
// result is invalid, otherwise "".
std::string take_fields(PyObject* result, OwnerReading& reading) {
    if (!PyDict_Check(result)) {
        return std::string("it returned ") + Py_TYPE(result)->tp_name + ", not a dict or None";
    }
    const OwnedRef device = field(result, "device");
    if (!device || !PyUnicode_Check(device.get())) {
        return "the result has no \"device\" of type str";
    }
    reading.device = text_of(device.get());
    const OwnedRef bytes = field(result, "nbytes");
    if (!bytes || !PyLong_Check(bytes.get())) {
        return "the result has no \"nbytes\" of type int";
    }
    reading.bytes = PyLong_AsUnsignedLongLong(bytes.get());
    if (PyErr_Occurred() != nullptr || reading.bytes > kMaxBytes) {
        PyErr_Clear();
        return "\"nbytes\" is negative or implausibly large (above 2**48)";
    }
    if (const OwnedRef pointer = field(result, "data_ptr")) {
        reading.storage =
            PyLong_Check(pointer.get()) ? PyLong_AsUnsignedLongLongMask(pointer.get()) : 0;
    }
    if (const OwnedRef shape = field(result, "shape")) {
        reading.shape = shape_of(shape.get());
    }
    if (const OwnedRef dtype = field(result, "dtype")) {
        reading.dtype = text_of(dtype.get());
    }
    return {};
}

void set_result_error(PyTypeObject* type, const std::string& problem) {
    PyErr_Format(
        PyExc_TypeError,
        "the owner reader registered for %.200s is invalid: %s. Objects that cannot be read "
        "are skipped and counted. Fix the reader passed to cyclewatch.register_owner().",
        type->tp_name,
        problem.c_str());
}

}  // namespace

void RegisteredReader::add(PyTypeObject* type, PyObject* reader) {
    Entry forgotten = take(type);
    entries_.push_back({python::borrow(reinterpret_cast<PyObject*>(type)), python::borrow(reader)});
    const python::StateRelease release;  // freeing it may run Python
    forgotten = {};
}

RegisteredReader::Entry RegisteredReader::take(PyTypeObject* type) {
    const auto found = std::ranges::find_if(entries_, [&](const Entry& entry) {
        return entry.type.get() == reinterpret_cast<PyObject*>(type);
    });
    if (found == entries_.end()) {
        return {};
    }
    reported_.erase(found->reader.get());
    Entry taken = std::move(*found);
    entries_.erase(found);
    return taken;
}

bool RegisteredReader::remove(PyTypeObject* type) {
    Entry forgotten = take(type);
    const bool found = static_cast<bool>(forgotten.type);
    const python::StateRelease release;  // freeing it may run Python
    forgotten = {};
    return found;
}

const RegisteredReader::Entry* RegisteredReader::nearest(PyTypeObject* type) const noexcept {
    PyObject* const mro = type->tp_mro;
    for (Py_ssize_t i = 0; mro != nullptr && i < PyTuple_GET_SIZE(mro); ++i) {
        const auto found = std::ranges::find_if(entries_, [&](const Entry& entry) {
            return entry.type.get() == PyTuple_GET_ITEM(mro, i);
        });
        if (found != entries_.end()) {
            return &*found;
        }
    }
    return nullptr;
}

bool RegisteredReader::recognises(PyTypeObject* type) const noexcept {
    return nearest(type) != nullptr;
}

ReadOutcome RegisteredReader::read(PyObject* object, OwnerReading& reading) noexcept {
    try {
        const Entry* const entry = nearest(Py_TYPE(object));
        if (entry == nullptr) {
            return ReadOutcome::owns_nothing;
        }
        const OwnedRef reader = python::borrow(entry->reader.get());
        const OwnedRef result = python::steal(
            python::let_others_run([&] { return PyObject_CallOneArg(reader.get(), object); }));
        if (!result) {
            if (!python::defer_exception()) {
                report_error(reader.get());
            }
            return ReadOutcome::failed;
        }
        if (result.get() == Py_None) {
            return ReadOutcome::owns_nothing;
        }
        if (const std::string problem = take_fields(result.get(), reading); !problem.empty()) {
            set_result_error(Py_TYPE(object), problem);
            report_error(reader.get());
            return ReadOutcome::failed;
        }
        if (reading.storage == 0) {
            reading.has_address = false;
            reading.storage = reinterpret_cast<std::uintptr_t>(object);  // not shared
        }
        return reading.bytes == 0 ? ReadOutcome::owns_nothing : ReadOutcome::owns;
    } catch (const std::exception&) {
        PyErr_Clear();
        return ReadOutcome::failed;
    }
}

void RegisteredReader::report_error(PyObject* reader) {
    if (reported_.insert(reader).second) {
        python::let_others_run([reader] { PyErr_WriteUnraisable(reader); });
    } else {
        PyErr_Clear();
    }
}

}  // namespace cyclewatch::device
