// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "device/readers/plain_attributes.h"
#include "device/readers/readers.h"
#include "device/readers/weak_object.h"
#include "python/references.h"

namespace cyclewatch::device {
namespace {

using python::OwnedRef;

struct JaxNames {
    OwnedRef arrays = interned("_arrays");
    OwnedRef aval = interned("aval");
    OwnedRef clone = interned("clone");
    OwnedRef committed = interned("_committed");
    OwnedRef device = interned("_device");
    OwnedRef dtype = interned("dtype");
    OwnedRef fget = interned("fget");
    OwnedRef id = interned("local_hardware_id");
    OwnedRef is_deleted = interned("is_deleted");
    OwnedRef is_ready = interned("is_ready");
    OwnedRef itemsize = interned("itemsize");
    OwnedRef kind = interned("kind");
    OwnedRef platform = interned("platform");
    OwnedRef pointer = interned("unsafe_buffer_pointer");
    OwnedRef shape = interned("shape");
    OwnedRef sharding = interned("_sharding");
    OwnedRef type = interned("type");
};

// True if `function` is a C++ function that jaxlib has bound. Other functions on jax's types are
// written in Python.
bool is_bound_by_jaxlib(PyObject* function) noexcept {
    return function != nullptr &&
           std::string_view(Py_TYPE(function)->tp_name).starts_with("nanobind.");
}

class JaxReader final : public OwnerReader {
  public:
    [[nodiscard]] bool recognises(PyTypeObject* type) const noexcept override {
        const std::string_view name(type->tp_name);
        return name.starts_with("jaxlib.") && name.ends_with(".ArrayImpl") &&
               is_bound_by_jaxlib(class_attribute(type, names_.is_deleted.get()));
    }
    [[nodiscard]] ReadOutcome read(PyObject* object, OwnerReading& reading) noexcept override;

  private:
    [[nodiscard]] OwnedRef value(PyObject* object, const OwnedRef& name) const noexcept;
    [[nodiscard]] OwnedRef device_of(PyObject* array) const noexcept;
    [[nodiscard]] ReadOutcome read_shards(PyObject* array, OwnerReading& reading) const;
    [[nodiscard]] bool read_buffer(PyObject* array, PyObject* device, OwnerReading& reading) const;
    [[nodiscard]] std::optional<std::uint64_t> bytes_of(PyObject* shape, PyObject* dtype) const;
    [[nodiscard]] std::string device_name(PyObject* device) const;
    [[nodiscard]] std::string dtype_name(PyObject* dtype) const;

    JaxNames names_;
};

// The result of a C++ getter or method without arguments; null if there is none, or if it fails.
OwnedRef JaxReader::value(PyObject* object, const OwnedRef& name) const noexcept {
    PyObject* const attribute = class_attribute(Py_TYPE(object), name.get());
    OwnedRef function = python::borrow(attribute);
    if (attribute != nullptr && Py_IS_TYPE(attribute, &PyProperty_Type)) {
        // A C attribute of a builtin type, which c_attribute() does not find since CPython 3.12.
        function = python::steal(PyObject_GetAttr(attribute, names_.fget.get()));
    }
    OwnedRef result = python::steal(
        is_bound_by_jaxlib(function.get()) ? PyObject_CallOneArg(function.get(), object) : nullptr);
    PyErr_Clear();
    return result;
}

// Null if the array has shards on several devices.
OwnedRef JaxReader::device_of(PyObject* array) const noexcept {
    const OwnedRef sharding = value(array, names_.sharding);
    return sharding ? value(sharding.get(), names_.device) : OwnedRef();
}

ReadOutcome JaxReader::read(PyObject* object, OwnerReading& reading) noexcept {
    try {
        const OwnedRef deleted = value(object, names_.is_deleted);
        if (deleted.get() != Py_False) {
            // A deleted or donated array no longer has a buffer.
            return deleted.get() == Py_True ? ReadOutcome::owns_nothing : ReadOutcome::failed;
        }
        const OwnedRef committed = value(object, names_.committed);
        if (committed.get() == Py_True || committed.get() == Py_False) {
            reading.note = committed.get() == Py_True ? "committed" : "uncommitted";
        }
        const OwnedRef device = device_of(object);
        if (!device) {
            return read_shards(object, reading);
        }
        if (!read_buffer(object, device.get(), reading)) {
            return ReadOutcome::failed;
        }
        reading.weak_storage = weak_object(object);
        return reading.bytes == 0 ? ReadOutcome::owns_nothing : ReadOutcome::owns;
    } catch (...) {
        return ReadOutcome::failed;
    }
}

// The first shard becomes the reading itself, the others its parts. JAX keeps the arrays of shards
// that it has once been asked for as long as the array, so a copy that shares the buffers is asked.
ReadOutcome JaxReader::read_shards(PyObject* array, OwnerReading& reading) const {
    const OwnedRef copy = value(array, names_.clone);
    const OwnedRef shards = copy ? value(copy.get(), names_.arrays) : OwnedRef();
    if (!shards || !PyList_CheckExact(shards.get())) {
        return ReadOutcome::failed;
    }
    const Py_ssize_t count = PyList_GET_SIZE(shards.get());
    for (Py_ssize_t i = 0; i < count; ++i) {
        PyObject* const shard = PyList_GET_ITEM(shards.get(), i);
        OwnerReading& part = i == 0 ? reading : reading.parts.emplace_back();
        const OwnedRef device = device_of(shard);
        if (!device || !read_buffer(shard, device.get(), part)) {
            return ReadOutcome::failed;
        }
        part.is_shard = true;
        part.weak_storage = weak_object(array);
    }
    return reading.bytes == 0 ? ReadOutcome::owns_nothing : ReadOutcome::owns;
}

bool JaxReader::read_buffer(PyObject* array, PyObject* device, OwnerReading& reading) const {
    const OwnedRef aval = value(array, names_.aval);
    const OwnedRef shape = aval ? c_attribute(aval.get(), names_.shape.get()) : OwnedRef();
    const OwnedRef dtype = aval ? c_attribute(aval.get(), names_.dtype.get()) : OwnedRef();
    const std::optional<std::uint64_t> bytes = bytes_of(shape.get(), dtype.get());
    if (!bytes) {
        return false;
    }
    reading.bytes = *bytes;
    reading.device = device_name(device);
    reading.shape = shape_text(shape.get());
    reading.dtype = dtype_name(dtype.get());
    // The address of an array that is still being computed might have to be waited for. Until then,
    // the array is taken for the only owner of its buffer.
    const bool is_ready = value(array, names_.is_ready).get() == Py_True;
    const OwnedRef address = is_ready ? value(array, names_.pointer) : OwnedRef();
    const std::optional<std::int64_t> known = integer(address.get());
    reading.has_address = known && *known != 0;
    reading.storage = reading.has_address ? static_cast<std::uint64_t>(*known)
                                          : reinterpret_cast<std::uintptr_t>(array);
    return true;
}

std::optional<std::uint64_t> JaxReader::bytes_of(PyObject* shape, PyObject* dtype) const {
    const OwnedRef itemsize =
        dtype == nullptr ? OwnedRef() : c_attribute(dtype, names_.itemsize.get());
    std::optional<std::int64_t> bytes = integer(itemsize.get());
    if (!bytes || shape == nullptr || !PyTuple_CheckExact(shape)) {
        return std::nullopt;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(shape); ++i) {
        const std::optional<std::int64_t> extent = integer(PyTuple_GET_ITEM(shape, i));
        if (!extent || *extent < 0 || __builtin_mul_overflow(*bytes, *extent, &*bytes)) {
            return std::nullopt;
        }
    }
    return static_cast<std::uint64_t>(*bytes);
}

// "cpu", "cuda:0", "tpu:3".
std::string JaxReader::device_name(PyObject* device) const {
    const OwnedRef platform = value(device, names_.platform);
    const std::string_view name = utf8(platform.get());
    if (name.empty() || name == "cpu") {
        return "cpu";
    }
    const OwnedRef id = value(device, names_.id);
    return std::string(name == "gpu" ? "cuda" : name) + ":" +
           std::to_string(integer(id.get()).value_or(0));
}

std::string JaxReader::dtype_name(PyObject* dtype) const {
    const OwnedRef kind = c_attribute(dtype, names_.kind.get());
    const OwnedRef itemsize = c_attribute(dtype, names_.itemsize.get());
    const std::string_view letter = utf8(kind.get());
    if (letter.size() == 1) {
        std::string name = dtype_text(letter.front(), integer(itemsize.get()).value_or(0));
        if (!name.empty()) {
            return name;
        }
    }
    // Types of the package ml_dtypes, such as bfloat16.
    const OwnedRef type = c_attribute(dtype, names_.type.get());
    return type && PyType_Check(type.get())
               ? std::string(base::last_part(reinterpret_cast<PyTypeObject*>(type.get())->tp_name))
               : std::string();
}

}  // namespace

std::unique_ptr<OwnerReader> make_jax_reader() noexcept {
    return std::unique_ptr<OwnerReader>(new (std::nothrow) JaxReader);
}

}  // namespace cyclewatch::device
