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

// What 65,535 such owners hold together still fits 64 bits.
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 48;
constexpr Py_ssize_t kMostDimensions = 64;  // of a shape are read
constexpr Py_ssize_t kLongestText = 1000;   // in letters, of whatever a reader says

// Takes the pending error, if there is one: an answer need not have a readable text or shape.
void clear_error() {
    if (PyErr_Occurred() != nullptr && !python::defer_exception()) {
        PyErr_Clear();
    }
}

std::string text_of(PyObject* object) {
    const OwnedRef text =
        python::steal(python::let_others_run([&] { return PyObject_Str(object); }));
    const bool is_long = text && PyUnicode_GET_LENGTH(text.get()) > kLongestText;
    const OwnedRef beginning =
        is_long ? python::steal(PyUnicode_Substring(text.get(), 0, kLongestText)) : OwnedRef();
    const OwnedRef& shown = is_long ? beginning : text;
    const char* const data = shown ? PyUnicode_AsUTF8(shown.get()) : nullptr;
    clear_error();
    return data == nullptr ? std::string() : std::string(data) + (is_long ? "..." : "");
}

// Held, and not only found: asking it for its text may run Python, which may change the answer.
OwnedRef field(PyObject* answer, const char* name) {
    OwnedRef value = python::borrow(PyDict_GetItemString(answer, name));
    return value.get() == Py_None ? OwnedRef() : std::move(value);
}

// The first of what `shape` gives, in a list. Null where it gives nothing.
OwnedRef dimensions_of(PyObject* shape) {
    OwnedRef list = python::steal(PyList_New(0));
    const OwnedRef iterator =
        python::steal(python::let_others_run([&] { return PyObject_GetIter(shape); }));
    if (!list || !iterator) {
        return {};
    }
    while (PyList_GET_SIZE(list.get()) < kMostDimensions) {
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

// "" if `answer` makes sense; otherwise what is wrong with it.
std::string take_fields(PyObject* answer, OwnerReading& reading) {
    if (!PyDict_Check(answer)) {
        return std::string("it returned ") + Py_TYPE(answer)->tp_name + ", not a dict or None";
    }
    const OwnedRef device = field(answer, "device");
    if (!device || !PyUnicode_Check(device.get())) {
        return "its answer has no \"device\" of type str";
    }
    reading.device = text_of(device.get());
    const OwnedRef bytes = field(answer, "nbytes");
    if (!bytes || !PyLong_Check(bytes.get())) {
        return "its answer has no \"nbytes\" of type int";
    }
    reading.bytes = PyLong_AsUnsignedLongLong(bytes.get());
    if (PyErr_Occurred() != nullptr || reading.bytes > kMostBytes) {
        PyErr_Clear();
        return "its \"nbytes\" is negative or above 2**48, which is more than any device has";
    }
    if (const OwnedRef pointer = field(answer, "data_ptr")) {
        reading.storage =
            PyLong_Check(pointer.get()) ? PyLong_AsUnsignedLongLongMask(pointer.get()) : 0;
    }
    if (const OwnedRef shape = field(answer, "shape")) {
        reading.shape = shape_of(shape.get());
    }
    if (const OwnedRef dtype = field(answer, "dtype")) {
        reading.dtype = text_of(dtype.get());
    }
    return {};
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
    told_.erase(found->reader.get());
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
        const OwnedRef answer = python::steal(
            python::let_others_run([&] { return PyObject_CallOneArg(reader.get(), object); }));
        if (!answer) {
            if (!python::defer_exception()) {
                report_error(reader.get());
            }
            return ReadOutcome::failed;
        }
        if (answer.get() == Py_None) {
            return ReadOutcome::owns_nothing;
        }
        if (const std::string wrong = take_fields(answer.get(), reading); !wrong.empty()) {
            report_answer(Py_TYPE(object), reader.get(), wrong);
            return ReadOutcome::failed;
        }
        if (reading.storage == 0) {
            reading.storage = reinterpret_cast<std::uintptr_t>(object);  // shares with nobody
        }
        return reading.bytes == 0 ? ReadOutcome::owns_nothing : ReadOutcome::owns;
    } catch (const std::exception&) {
        PyErr_Clear();
        return ReadOutcome::failed;
    }
}

void RegisteredReader::report_error(PyObject* reader) {
    if (told_.insert(reader).second) {
        python::let_others_run([reader] { PyErr_WriteUnraisable(reader); });
    } else {
        PyErr_Clear();
    }
}

void RegisteredReader::report_answer(PyTypeObject* type,
                                     PyObject* reader,
                                     const std::string& wrong) {
    if (told_.insert(reader).second) {
        const std::string name(type->tp_name, strnlen(type->tp_name, kLongestText));
        failures_.push_back("The owner reader registered for " + name + " is not usable: " + wrong +
                            "; its objects are skipped and counted. Correct the reader given to "
                            "cyclewatch.register_owner().");
    }
}

std::vector<std::string> RegisteredReader::take_failures() {
    return std::exchange(failures_, {});
}

}  // namespace cyclewatch::device
