// SPDX-License-Identifier: Apache-2.0
#include "device/readers/readers.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <new>
#include <string_view>
#include <utility>

#include "compat/object_layout.h"
#include "device/device_memory.h"
#include "device/readers/plain_attributes.h"
#include "device/readers/weak_object.h"
#include "python/references.h"

namespace cyclewatch::device {

namespace {

using python::OwnedRef;

constexpr std::array kLibraries{"cupy", "numba.cuda", "rmm", "cuda.core"};
constexpr std::string_view kNumbaModule = "cuda.cudadrv.devicearray";

struct Names {
    OwnedRef interface = interned("__cuda_array_interface__");
    OwnedRef module = interned("__module__");
    OwnedRef data = interned("data");
    OwnedRef device_id = interned("device_id");
    OwnedRef dtype = interned("dtype");
    OwnedRef itemsize = interned("itemsize");
    OwnedRef kind = interned("kind");
    OwnedRef mem = interned("mem");
    OwnedRef ptr = interned("ptr");
    OwnedRef base = interned("base");
    OwnedRef shape = interned("shape");
    OwnedRef size = interned("size");
    OwnedRef value = interned("value");
};

class CudaArrayInterfaceReader final : public OwnerReader {
  public:
    explicit CudaArrayInterfaceReader(DeviceQueries* queries) noexcept : queries_(queries) {}

    [[nodiscard]] bool recognises(PyTypeObject* type) const noexcept override {
        return plan_for(type).method != Method::none;
    }
    [[nodiscard]] ReadOutcome read(PyObject* object, OwnerReading& reading) noexcept override;
    [[nodiscard]] bool reads_claims() const noexcept override { return true; }

  private:
    enum class Method : std::uint8_t { none, cupy, numba, getter };
    struct Plan {
        Method method = Method::none;
        PyTypeObject* defining = nullptr;  // the class that defines the attribute
    };

    [[nodiscard]] Plan plan_for(PyTypeObject* type) const noexcept;
    [[nodiscard]] ReadOutcome read_cupy(PyTypeObject* type,
                                        PyObject* array,
                                        OwnerReading& reading) const;
    [[nodiscard]] ReadOutcome read_numba(PyObject* array, OwnerReading& reading) const;
    [[nodiscard]] ReadOutcome read_getter(PyObject* object, OwnerReading& reading) const;
    [[nodiscard]] ReadOutcome set_device(OwnerReading& reading,
                                         std::optional<std::int64_t> device_by_library) const;
    [[nodiscard]] std::optional<std::int64_t> address_in(PyObject* pointer) const noexcept;
    [[nodiscard]] std::string dtype_of(PyObject* dtype) const;

    DeviceQueries* queries_;  // null: the process's own queries
    Names names_;
};

CudaArrayInterfaceReader::Plan CudaArrayInterfaceReader::plan_for(
    PyTypeObject* type) const noexcept {
    PyObject* const mro = type->tp_mro;
    if (mro == nullptr || !names_.interface) {
        return {};
    }
    for (Py_ssize_t index = 0; index < PyTuple_GET_SIZE(mro); ++index) {
        auto* const base = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(mro, index));
        PyObject* const attribute =
            base->tp_dict == nullptr
                ? nullptr
                : PyDict_GetItemWithError(base->tp_dict, names_.interface.get());
        if (attribute == nullptr) {
            continue;
        }
        const bool from_c = is_c_attribute(attribute);
        if (from_c && std::string_view(base->tp_name).starts_with("cupy.")) {
            return {Method::cupy, base};
        }
        if (!from_c && utf8(PyDict_GetItemWithError(base->tp_dict, names_.module.get()))
                           .ends_with(kNumbaModule)) {
            return {Method::numba, base};
        }
        // A Python property overrides any C getter of a base class.
        return from_c ? Plan{Method::getter, base} : Plan{};
    }
    return {};
}

ReadOutcome CudaArrayInterfaceReader::read(PyObject* object, OwnerReading& reading) noexcept {
    try {
        const Plan plan = plan_for(Py_TYPE(object));
        switch (plan.method) {
            case Method::cupy:
                return read_cupy(plan.defining, object, reading);
            case Method::numba:
                return read_numba(object, reading);
            case Method::getter:
                return read_getter(object, reading);
            case Method::none:
                break;
        }
        return ReadOutcome::owns_nothing;
    } catch (...) {
        return ReadOutcome::failed;
    }
}

// Sets the device to the one that CUDA reports or, if CUDA does not know the address, to the one
// that the library reports.
ReadOutcome CudaArrayInterfaceReader::set_device(
    OwnerReading& reading, std::optional<std::int64_t> device_by_library) const {
    if (reading.storage == 0 || reading.bytes == 0) {
        return ReadOutcome::owns_nothing;
    }
    const std::optional<PointerFacts> facts = queries_ != nullptr
                                                  ? queries_->pointer_facts(reading.storage)
                                                  : pointer_facts(reading.storage);
    if (facts && facts->kind == MemoryKind::unregistered) {
        return ReadOutcome::owns_nothing;  // already freed, or not CUDA memory
    }
    if (facts && facts->kind == MemoryKind::host) {
        reading.device = "cpu";
    } else if (facts) {
        reading.device = "cuda:" + std::to_string(facts->device);
    } else {
        reading.device = device_by_library ? "cuda:" + std::to_string(*device_by_library) : "cuda";
    }
    return ReadOutcome::owns;
}

// array.data is a MemoryPointer; its .mem is the allocation that all views share.
ReadOutcome CudaArrayInterfaceReader::read_cupy(PyTypeObject* type,
                                                PyObject* array,
                                                OwnerReading& reading) const {
    const OwnedRef pointer = c_attribute(type, array, names_.data.get());
    const OwnedRef memory = pointer ? c_attribute(pointer.get(), names_.mem.get()) : OwnedRef();
    if (!memory) {
        return ReadOutcome::failed;
    }
    if (std::string_view(Py_TYPE(memory.get())->tp_name).ends_with(".UnownedMemory")) {
        return ReadOutcome::owns_nothing;  // memory of another library, whose object is the owner
    }
    const OwnedRef start = c_attribute(memory.get(), names_.ptr.get());
    const OwnedRef bytes = c_attribute(memory.get(), names_.size.get());
    const OwnedRef device = c_attribute(memory.get(), names_.device_id.get());
    if (!integer(start.get()) || !integer(bytes.get())) {
        return ReadOutcome::failed;
    }
    reading.storage = static_cast<std::uint64_t>(*integer(start.get()));
    reading.bytes = static_cast<std::uint64_t>(*integer(bytes.get()));
    const ReadOutcome outcome = set_device(reading, integer(device.get()));
    if (outcome == ReadOutcome::owns) {
        const OwnedRef shape = c_attribute(type, array, names_.shape.get());
        const OwnedRef dtype = c_attribute(type, array, names_.dtype.get());
        const OwnedRef root = c_attribute(type, array, names_.base.get());
        reading.shape = shape_text(shape.get());
        reading.dtype = dtype_of(dtype.get());
        // The base of a view is the original array, which every view keeps alive.
        reading.weak_storage = weak_object(root && root.get() != Py_None ? root.get() : array);
    }
    return outcome;
}

// Returns the referent if `object` is a weak proxy, otherwise `object` itself; borrowed.
PyObject* unwrap_proxy(PyObject* object) noexcept {
    if (object != nullptr && PyWeakref_CheckProxy(object)) {
        PyObject* const target = reinterpret_cast<PyWeakReference*>(object)->wr_object;
        return target == Py_None ? nullptr : target;
    }
    return object;
}

// array.gpu_data is a MemoryPointer (the allocation), or an OwnedPointer whose ._mem is a weak
// proxy of a MemoryPointer. Numba keeps that MemoryPointer in a table until the last OwnedPointer
// dies.
ReadOutcome CudaArrayInterfaceReader::read_numba(PyObject* array, OwnerReading& reading) const {
    PyObject* const pointer = instance_attribute(array, "gpu_data");
    if (pointer == nullptr || pointer == Py_None) {
        return ReadOutcome::owns_nothing;
    }
    PyObject* const owned = unwrap_proxy(instance_attribute(pointer, "_mem"));
    PyObject* const memory = owned != nullptr ? owned : pointer;
    const std::optional<std::int64_t> start =
        address_in(instance_attribute(memory, "device_pointer"));
    const std::optional<std::int64_t> bytes = integer(instance_attribute(memory, "size"));
    if (!start || !bytes) {
        return ReadOutcome::failed;
    }
    reading.storage = static_cast<std::uint64_t>(*start);
    reading.bytes = static_cast<std::uint64_t>(*bytes);
    PyObject* const context = unwrap_proxy(instance_attribute(memory, "context"));
    PyObject* const device =
        context == nullptr ? nullptr : unwrap_proxy(instance_attribute(context, "device"));
    const ReadOutcome outcome = set_device(
        reading, integer(device == nullptr ? nullptr : instance_attribute(device, "id")));
    if (outcome == ReadOutcome::owns) {
        reading.shape = shape_text(instance_attribute(array, "shape"));
        reading.dtype = dtype_of(instance_attribute(array, "dtype"));
        reading.weak_storage = weak_object(memory);
    }
    return outcome;
}

// Accepts ints, ctypes integers and pointers, and C types with __int__ (NVIDIA's driver bindings).
std::optional<std::int64_t> CudaArrayInterfaceReader::address_in(PyObject* pointer) const noexcept {
    if (pointer == nullptr || PyLong_CheckExact(pointer)) {
        return integer(pointer);
    }
    if (const OwnedRef value = c_attribute(pointer, names_.value.get()); value) {
        return value.get() == Py_None ? std::optional<std::int64_t>(0) : integer(value.get());
    }
    const PyNumberMethods* const number = Py_TYPE(pointer)->tp_as_number;
    if (number == nullptr || number->nb_int == nullptr || PySequence_Check(pointer) != 0 ||
        cyclewatch_type_has_slots(Py_TYPE(pointer)) != 0) {
        return std::nullopt;  // not a number; int() of an array may issue a warning
    }
    const OwnedRef value = python::steal(number->nb_int(pointer));
    PyErr_Clear();
    return integer(value.get());
}

std::string CudaArrayInterfaceReader::dtype_of(PyObject* dtype) const {
    if (dtype == nullptr) {
        return {};
    }
    const OwnedRef kind = c_attribute(dtype, names_.kind.get());
    const OwnedRef bytes = c_attribute(dtype, names_.itemsize.get());
    const std::optional<std::int64_t> size = integer(bytes.get());
    if (!size || !kind || !PyUnicode_CheckExact(kind.get()) ||
        PyUnicode_GET_LENGTH(kind.get()) != 1) {
        return {};
    }
    const Py_UCS4 letter = PyUnicode_READ_CHAR(kind.get(), 0);
    return letter > 127 ? std::string() : dtype_text(static_cast<char>(letter), *size);
}

// The number of bytes from the lowest to the highest element; nullopt if a field is invalid.
std::optional<std::uint64_t> extent_of(PyObject* shape, PyObject* strides, std::int64_t item) {
    if (shape == nullptr || !PyTuple_CheckExact(shape) || item <= 0) {
        return std::nullopt;
    }
    const bool strided = strides != nullptr && PyTuple_CheckExact(strides) &&
                         PyTuple_GET_SIZE(strides) == PyTuple_GET_SIZE(shape);
    std::int64_t elements = 1;
    std::int64_t extent = item;
    for (Py_ssize_t index = 0; index < PyTuple_GET_SIZE(shape); ++index) {
        const std::optional<std::int64_t> count = integer(PyTuple_GET_ITEM(shape, index));
        const std::optional<std::int64_t> stride =
            strided ? integer(PyTuple_GET_ITEM(strides, index)) : std::optional<std::int64_t>(0);
        if (!count || !stride || *count < 0 ||
            __builtin_mul_overflow(elements, *count, &elements)) {
            return std::nullopt;
        }
        std::int64_t step = 0;
        if (__builtin_mul_overflow(*count - 1, std::llabs(*stride), &step) ||
            __builtin_add_overflow(extent, step, &extent)) {
            return std::nullopt;
        }
    }
    if (elements == 0) {
        return 0;
    }
    std::int64_t bytes = 0;
    if (__builtin_mul_overflow(elements, item, &bytes)) {
        return std::nullopt;
    }
    return static_cast<std::uint64_t>(strided ? extent : bytes);
}

ReadOutcome CudaArrayInterfaceReader::read_getter(PyObject* object, OwnerReading& reading) const {
    const OwnedRef interface = c_attribute(object, names_.interface.get());
    if (!interface || !PyDict_CheckExact(interface.get())) {
        return ReadOutcome::failed;
    }
    const auto field = [&](const char* name) { return entry(interface.get(), name); };
    PyObject* const data = field("data");
    // "<f4": byte order, kind, item size. CPython null-terminates the UTF-8 text of a str.
    const std::string_view code = utf8(field("typestr"));
    if (data == nullptr || !PyTuple_CheckExact(data) || PyTuple_GET_SIZE(data) < 1 ||
        code.size() < 3) {
        return ReadOutcome::failed;
    }
    const std::int64_t item = std::strtoll(code.data() + 2, nullptr, 10);
    const std::optional<std::int64_t> start = integer(PyTuple_GET_ITEM(data, 0));
    const std::optional<std::uint64_t> bytes = extent_of(field("shape"), field("strides"), item);
    if (!start || !bytes) {
        return ReadOutcome::failed;
    }
    reading.storage = static_cast<std::uint64_t>(*start);
    reading.bytes = *bytes;
    const ReadOutcome outcome = set_device(reading, std::nullopt);
    if (outcome == ReadOutcome::owns) {
        reading.shape = shape_text(field("shape"));
        reading.dtype = dtype_text(code[1], item);
        reading.weak_storage = weak_object(object);
    }
    return outcome;
}

}  // namespace

bool cuda_array_library_imported() noexcept {
    // The names are never released, because the interpreter may be finalized before static objects
    // are destroyed.
    static const std::array<PyObject*, kLibraries.size()> names = [] {
        std::array<PyObject*, kLibraries.size()> made{};
        std::ranges::transform(kLibraries, made.begin(), PyUnicode_InternFromString);
        return made;
    }();
    PyObject* const modules = PyImport_GetModuleDict();
    const bool imported = std::ranges::any_of(names, [modules](PyObject* name) {
        return name != nullptr && PyDict_GetItemWithError(modules, name) != nullptr;
    });
    PyErr_Clear();
    return imported;
}

std::unique_ptr<OwnerReader> make_cuda_array_interface_reader(DeviceQueries* queries) noexcept {
    return std::unique_ptr<OwnerReader>(new (std::nothrow) CudaArrayInterfaceReader(queries));
}

}  // namespace cyclewatch::device
