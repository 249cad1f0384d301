// SPDX-License-Identifier: Apache-2.0
#include "device/readers/torch_tensor.h"

#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "compat/gc_list.h"
#include "device/imported_module.h"
#include "python/references.h"

namespace cyclewatch::device {
namespace {

using python::OwnedRef;
using python::steal;

constexpr std::size_t kMostDevices = 64;  // whose names are remembered

// C functions of torch, by where they stand in torch._C.
struct TorchFunctions {
    PyTypeObject* tensor_base = nullptr;   // torch._C.TensorBase
    PyTypeObject* storage_base = nullptr;  // torch._C.StorageBase
    PyTypeObject* tensor = nullptr;        // torch.Tensor
    PyTypeObject* device = nullptr;        // torch.device
    OwnedRef disable_torch_function;       // torch._C.DisableTorchFunction
    OwnedRef mode_enabled;                 // torch._C._is_torch_function_mode_enabled
    OwnedRef untyped_storage;              // TensorBase.untyped_storage
    OwnedRef data_address;                 // torch._C._data_address
    OwnedRef layout;                       // TensorBase.layout (getset)
    OwnedRef strided;                      // torch.strided
    OwnedRef is_view;                      // TensorBase._is_view
    OwnedRef is_inference;                 // TensorBase.is_inference
    OwnedRef version;                      // TensorBase._version (getset)
    OwnedRef is_leaf;                      // TensorBase.is_leaf (getset)
    OwnedRef grad;                         // TensorBase.grad (getset)
    OwnedRef use_count;                    // TensorBase._use_count; missing in old versions
    OwnedRef shape;                        // TensorBase.shape (getset)
    OwnedRef dtype;                        // TensorBase.dtype (getset)
    OwnedRef is_tracing;                   // torch._C._is_tracing
    OwnedRef storage_device;               // StorageBase.device (getset)
    OwnedRef storage_bytes;                // StorageBase.nbytes
    OwnedRef storage_data_ptr;             // StorageBase.data_ptr
    OwnedRef storage_weak_ref;             // StorageBase._weak_ref
    OwnedRef storage_expired;              // StorageBase._expired
    OwnedRef storage_free_weak_ref;        // StorageBase._free_weak_ref
    OwnedRef device_type;                  // torch.device.type (getset)
    OwnedRef device_index;                 // torch.device.index (getset)
};

// What a C descriptor answers for `object`.
OwnedRef get(const OwnedRef& descriptor, PyObject* object) noexcept {
    const descrgetfunc getter = Py_TYPE(descriptor.get())->tp_descr_get;
    return steal(
        getter == nullptr
            ? nullptr
            : getter(descriptor.get(), object, reinterpret_cast<PyObject*>(Py_TYPE(object))));
}

OwnedRef call(const OwnedRef& function, PyObject* argument) noexcept {
    return steal(PyObject_CallOneArg(function.get(), argument));
}

// 0 as well for what is no number: a symbol of a size, or an answer that was refused.
std::uint64_t number_of(const OwnedRef& answer) noexcept {
    const bool is_number = answer && PyLong_CheckExact(answer.get());
    const std::uint64_t number = is_number ? PyLong_AsUnsignedLongLong(answer.get()) : 0;
    if (PyErr_Occurred() != nullptr) {
        PyErr_Clear();
        return 0;
    }
    return number;
}

// False as well where this torch has no such question.
bool is_true(const OwnedRef& question) noexcept {
    const OwnedRef answer = steal(question ? PyObject_CallNoArgs(question.get()) : nullptr);
    return answer.get() == Py_True;
}

OwnedRef from_dict(PyTypeObject* type, const char* name) noexcept {
    PyObject* const dict = type->tp_dict;
    return python::borrow(dict == nullptr ? nullptr : PyDict_GetItemString(dict, name));
}

PyTypeObject* type_in(PyObject* module, const char* name) noexcept {
    PyObject* const value = PyDict_GetItemString(PyModule_GetDict(module), name);
    return value != nullptr && PyType_Check(value) ? reinterpret_cast<PyTypeObject*>(value)
                                                   : nullptr;
}

bool fetch(TorchFunctions& torch) noexcept {
    PyObject* const top = imported("torch");
    PyObject* const native = imported("torch._C");
    if (top == nullptr || native == nullptr) {
        return false;
    }
    torch.tensor = type_in(top, "Tensor");
    torch.tensor_base = type_in(native, "TensorBase");
    torch.storage_base = type_in(native, "StorageBase");
    torch.device = type_in(native, "device");
    // torch.UntypedStorage registers itself as what untyped_storage() returns; before that the
    // import is not far enough to ask anything.
    if (torch.tensor == nullptr || torch.tensor_base == nullptr || torch.storage_base == nullptr ||
        torch.device == nullptr || type_in(top, "UntypedStorage") == nullptr) {
        return false;
    }
    PyObject* const natives = PyModule_GetDict(native);
    torch.disable_torch_function =
        python::borrow(PyDict_GetItemString(natives, "DisableTorchFunction"));
    torch.mode_enabled =
        python::borrow(PyDict_GetItemString(natives, "_is_torch_function_mode_enabled"));
    torch.untyped_storage = from_dict(torch.tensor_base, "untyped_storage");
    torch.data_address = python::borrow(PyDict_GetItemString(natives, "_data_address"));
    torch.layout = from_dict(torch.tensor_base, "layout");
    torch.strided = python::borrow(PyDict_GetItemString(PyModule_GetDict(top), "strided"));
    torch.is_view = from_dict(torch.tensor_base, "_is_view");
    torch.is_inference = from_dict(torch.tensor_base, "is_inference");
    torch.version = from_dict(torch.tensor_base, "_version");
    torch.is_leaf = from_dict(torch.tensor_base, "is_leaf");
    torch.grad = from_dict(torch.tensor_base, "grad");
    torch.use_count = from_dict(torch.tensor_base, "_use_count");
    torch.shape = from_dict(torch.tensor_base, "shape");
    torch.dtype = from_dict(torch.tensor_base, "dtype");
    torch.is_tracing = python::borrow(PyDict_GetItemString(natives, "_is_tracing"));
    torch.storage_device = from_dict(torch.storage_base, "device");
    torch.storage_bytes = from_dict(torch.storage_base, "nbytes");
    torch.storage_data_ptr = from_dict(torch.storage_base, "data_ptr");
    torch.storage_weak_ref = from_dict(torch.storage_base, "_weak_ref");
    PyObject* const storage_type = reinterpret_cast<PyObject*>(torch.storage_base);
    torch.storage_expired = steal(PyObject_GetAttrString(storage_type, "_expired"));
    torch.storage_free_weak_ref = steal(PyObject_GetAttrString(storage_type, "_free_weak_ref"));
    torch.device_type = from_dict(torch.device, "type");
    torch.device_index = from_dict(torch.device, "index");
    return torch.disable_torch_function && torch.mode_enabled && torch.untyped_storage &&
           torch.data_address && torch.layout && torch.strided && torch.is_view &&
           torch.is_inference && torch.version && torch.shape && torch.dtype &&
           torch.storage_device && torch.storage_bytes && torch.storage_data_ptr &&
           torch.storage_weak_ref && torch.storage_expired && torch.storage_free_weak_ref &&
           torch.device_type && torch.device_index;
}

// For the scope: torch's C functions look neither at a subclass's __torch_function__ nor at a
// TorchFunctionMode, such as torch.set_default_device() leaves behind.
class WithoutTorchFunction {
  public:
    explicit WithoutTorchFunction(const TorchFunctions& torch) noexcept
        : guard_(steal(PyObject_CallNoArgs(torch.disable_torch_function.get()))) {
        entered_ = guard_ && steal(PyObject_CallMethod(guard_.get(), "__enter__", nullptr));
    }
    WithoutTorchFunction(const WithoutTorchFunction&) = delete;
    WithoutTorchFunction& operator=(const WithoutTorchFunction&) = delete;
    ~WithoutTorchFunction() {
        if (entered_) {
            const OwnedRef result = steal(
                PyObject_CallMethod(guard_.get(), "__exit__", "OOO", Py_None, Py_None, Py_None));
            PyErr_Clear();
        }
    }
    [[nodiscard]] bool entered() const noexcept { return entered_; }

  private:
    OwnedRef guard_;
    bool entered_ = false;
};

// A weak hold on a StorageImpl: tells whether its memory went, keeps none of it.
class WeakStorage final : public StorageWitness {
  public:
    WeakStorage(const TorchFunctions& torch, OwnedRef handle) noexcept
        : torch_(torch), handle_(std::move(handle)) {}
    WeakStorage(const WeakStorage&) = delete;
    WeakStorage& operator=(const WeakStorage&) = delete;
    ~WeakStorage() override {
        const OwnedRef result = call(torch_.storage_free_weak_ref, handle_.get());
        PyErr_Clear();
    }
    [[nodiscard]] bool released() noexcept override {
        const OwnedRef expired = call(torch_.storage_expired, handle_.get());
        PyErr_Clear();
        return expired.get() == Py_True;
    }

  private:
    const TorchFunctions& torch_;  // of the reader, which lives as long as the process
    OwnedRef handle_;              // a Python int: the weak StorageImpl pointer
};

std::string text_of(PyObject* text) {
    Py_ssize_t size = 0;
    const char* const data = PyUnicode_AsUTF8AndSize(text, &size);
    return data == nullptr ? std::string() : std::string(data, static_cast<std::size_t>(size));
}

class TorchReader final : public OwnerReader {
  public:
    bool set_up() noexcept { return fetch(torch_); }

    [[nodiscard]] bool recognises(PyTypeObject* type) const noexcept override {
        return PyType_IsSubtype(type, torch_.tensor_base) != 0 ||
               PyType_IsSubtype(type, torch_.storage_base) != 0;
    }

    [[nodiscard]] ReadOutcome read(PyObject* object, OwnerReading& reading) noexcept override {
        try {
            const ReadOutcome outcome = read_guarded(object, reading);
            // A tensor without storage (sparse, wrapper) says so with an exception: it owns
            // nothing itself, its parts are owners of their own.
            PyErr_Clear();
            return outcome;
        } catch (...) {
            PyErr_Clear();
            return ReadOutcome::failed;
        }
    }

    // A tensor that C++ holds as well (a view of it, an autograd node) holds its Python object.
    [[nodiscard]] Py_ssize_t hidden_references(PyObject* object) noexcept override {
        if (!torch_.use_count || PyType_IsSubtype(Py_TYPE(object), torch_.tensor_base) == 0) {
            return 0;
        }
        const WithoutTorchFunction guard(torch_);
        const OwnedRef count = guard.entered() ? call(torch_.use_count, object) : OwnedRef();
        const bool held = count && PyLong_AsLong(count.get()) > 1;
        PyErr_Clear();
        return held ? 1 : 0;
    }

    [[nodiscard]] const char* name() const noexcept override { return "torch"; }

  private:
    ReadOutcome read_guarded(PyObject* object, OwnerReading& reading) {
        if (PyType_IsSubtype(Py_TYPE(object), torch_.storage_base) != 0) {
            return read_storage(object, reading);
        }
        if (Py_TYPE(object) == torch_.tensor && !is_true(torch_.mode_enabled)) {
            return read_tensor(object, reading);  // nothing to switch off
        }
        const WithoutTorchFunction guard(torch_);
        return guard.entered() ? read_tensor(object, reading) : ReadOutcome::failed;
    }

    ReadOutcome read_tensor(PyObject* tensor, OwnerReading& reading) {
        const ReadOutcome outcome = read_own_storage(tensor, reading);
        if (outcome == ReadOutcome::owns) {
            add_gradient(tensor, reading);
        }
        return outcome;
    }

    ReadOutcome read_own_storage(PyObject* tensor, OwnerReading& reading) {
        const bool in_python = dispatches_to_python(Py_TYPE(tensor));
        if (!in_python && !is_strided(tensor)) {
            return ReadOutcome::owns_nothing;  // sparse and the like: parts of it are owners
        }
        // Before its size, which may be a symbol that an export would have to decide upon; and not
        // the storage's data_ptr(), which copies what was to be copied on its first write.
        reading.storage = number_of(call(torch_.data_address, tensor));
        if (reading.storage == 0) {
            return ReadOutcome::owns_nothing;  // a wrapper, a fake tensor, an empty one
        }
        const OwnedRef storage = storage_of(tensor, reading);
        const ReadOutcome outcome =
            storage ? read_rest_of_storage(storage.get(), reading) : ReadOutcome::owns_nothing;
        if (outcome == ReadOutcome::owns) {
            reading.dtype = dtype_of(tensor);
            // While torch.jit.trace() records on this thread, a tensor that is asked for its shape
            // becomes part of what is recorded, the dying one too.
            reading.shape = in_python || is_true(torch_.is_tracing) ? "" : shape_of(tensor);
        }
        return outcome;
    }

    [[nodiscard]] bool is_strided(PyObject* tensor) const noexcept {
        return get(torch_.layout, tensor).get() == torch_.strided.get();
    }

    // True if the tensor may be asked for its gradient. A view whose base was written to since
    // would make its node of the autograd graph anew, by calling operators, which whoever listens
    // to those would notice; that may have happened where there were any writes at all.
    [[nodiscard]] bool may_tell_gradient(PyObject* tensor) const noexcept {
        if (call(torch_.is_view, tensor).get() == Py_True &&
            (call(torch_.is_inference, tensor).get() != Py_False ||
             number_of(get(torch_.version, tensor)) != 0)) {
            return false;
        }
        // Asked of anything but a leaf, torch would issue a warning, in Python.
        return torch_.is_leaf && torch_.grad && get(torch_.is_leaf, tensor).get() == Py_True;
    }

    // A gradient hangs off its tensor in C++, where neither a graph nor the collector sees it.
    void add_gradient(PyObject* tensor, OwnerReading& reading) {
        if (!may_tell_gradient(tensor)) {
            return;
        }
        OwnerReading part;
        const OwnedRef gradient = made_by([&] { return get(torch_.grad, tensor); }, part);
        if (gradient && gradient.get() != Py_None &&
            read_own_storage(gradient.get(), part) == ReadOutcome::owns) {
            part.part = ".grad";
            reading.parts.push_back(std::move(part));
        }
    }

    // What `make` returns. torch keeps the Python object of a storage or a gradient that was asked
    // for as long as the thing itself. If it was made just now, it is counted.
    template <typename Make>
    OwnedRef made_by(Make make, OwnerReading& reading) {
        const int young_count = cw_young_count();
        OwnedRef object = make();
        if (object && cw_young_count() > young_count && PyObject_IS_GC(object.get()) != 0) {
            ++reading.left_objects;
        }
        return object;
    }

    // Programs seldom ask for a storage: one that was made just now is not to be met in
    // gc.get_objects(). It refers to nothing. A gradient is asked for in each step of a training,
    // and is to be an ordinary object then, which the collector knows.
    OwnedRef storage_of(PyObject* tensor, OwnerReading& reading) {
        const int left_objects = reading.left_objects;
        OwnedRef storage = made_by([&] { return call(torch_.untyped_storage, tensor); }, reading);
        if (reading.left_objects > left_objects) {
            PyObject_GC_UnTrack(storage.get());
        }
        return storage;
    }

    ReadOutcome read_storage(PyObject* storage, OwnerReading& reading) {
        // Of a wrapper's storage the size may be a symbol, and there is no address to ask for.
        const OwnedRef bytes = call(torch_.storage_bytes, storage);
        if (!bytes || !PyLong_CheckExact(bytes.get()) || device_of(storage) == "meta") {
            return ReadOutcome::owns_nothing;
        }
        reading.storage = number_of(call(torch_.storage_data_ptr, storage));
        return reading.storage == 0 ? ReadOutcome::owns_nothing
                                    : read_rest_of_storage(storage, reading);
    }

    // All but the address.
    ReadOutcome read_rest_of_storage(PyObject* storage, OwnerReading& reading) {
        reading.device = device_of(storage);
        reading.bytes = number_of(call(torch_.storage_bytes, storage));
        if (reading.bytes == 0 || reading.device == "meta") {
            return ReadOutcome::owns_nothing;
        }
        if (OwnedRef handle = call(torch_.storage_weak_ref, storage)) {
            reading.witness = std::make_unique<WeakStorage>(torch_, std::move(handle));
        }
        return reading.device.empty() ? ReadOutcome::failed : ReadOutcome::owns;
    }

    // torch makes a new torch.device each time it is asked, and its text out of a stream: devices
    // are few, and compared in C.
    const std::string& device_of(PyObject* storage) {
        static const std::string unknown;
        OwnedRef device = get(torch_.storage_device, storage);
        if (!device || Py_TYPE(device.get()) != torch_.device) {
            return unknown;
        }
        for (const auto& [known, name] : devices_) {
            if (PyObject_RichCompareBool(known.get(), device.get(), Py_EQ) == 1) {
                return name;
            }
        }
        std::string name = name_of_device(device.get());
        if (name.empty() || devices_.size() >= kMostDevices) {
            return other_device_ = std::move(name);
        }
        return devices_.emplace_back(std::move(device), std::move(name)).second;
    }

    std::string name_of_device(PyObject* device) const {
        const OwnedRef type = get(torch_.device_type, device);
        const OwnedRef index = get(torch_.device_index, device);
        if (!type || !index) {
            return {};
        }
        std::string text = text_of(type.get());
        if (PyLong_Check(index.get())) {
            text += ':' + std::to_string(PyLong_AsLong(index.get()));
        }
        return text;
    }

    // dtypes are a handful of permanent objects: their names are made once.
    const std::string& dtype_of(PyObject* tensor) {
        static const std::string unknown;
        const OwnedRef dtype = get(torch_.dtype, tensor);
        if (!dtype) {
            return unknown;
        }
        const auto known = dtypes_.find(dtype.get());
        if (known != dtypes_.end()) {
            return known->second;
        }
        // THPDtype's own repr, in C. Not PyObject_Repr(): that runs the program's signal handlers.
        const OwnedRef text = steal(Py_TYPE(dtype.get())->tp_repr(dtype.get()));
        std::string name = text ? text_of(text.get()) : std::string();
        if (name.starts_with("torch.")) {
            name.erase(0, std::string_view("torch.").size());
        }
        return dtypes_.emplace(dtype.get(), std::move(name)).first->second;
    }

    std::string shape_of(PyObject* tensor) {
        const OwnedRef shape = get(torch_.shape, tensor);
        if (!shape || !PyTuple_Check(shape.get())) {
            return {};
        }
        std::string text = "[";
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(shape.get()); ++i) {
            PyObject* const dimension = PyTuple_GET_ITEM(shape.get(), i);
            text += i == 0 ? "" : ", ";
            text += PyLong_CheckExact(dimension) ? std::to_string(PyLong_AsLongLong(dimension))
                                                 : "?";  // symbolic
        }
        return text + "]";
    }

    // True if sizes may be answered by Python code: __torch_dispatch__ is defined below
    // torch.Tensor, whose own is the disabled one.
    bool dispatches_to_python(PyTypeObject* type) const noexcept {
        PyObject* const mro = type->tp_mro;
        for (Py_ssize_t i = 0; mro != nullptr && i < PyTuple_GET_SIZE(mro); ++i) {
            auto* const base = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(mro, i));
            if (base == torch_.tensor || base == torch_.tensor_base) {
                return false;
            }
            if (base->tp_dict != nullptr &&
                PyDict_GetItemString(base->tp_dict, "__torch_dispatch__") != nullptr) {
                return true;
            }
        }
        return true;
    }

    TorchFunctions torch_;
    std::unordered_map<PyObject*, std::string> dtypes_;
    std::vector<std::pair<OwnedRef, std::string>> devices_;
    std::string other_device_;  // beyond those
};

}  // namespace

std::unique_ptr<OwnerReader> make_torch_reader() noexcept {
    try {
        auto reader = std::make_unique<TorchReader>();
        const bool ready = reader->set_up();
        PyErr_Clear();
        return ready ? std::move(reader) : nullptr;
    } catch (...) {
        PyErr_Clear();
        return nullptr;
    }
}

}  // namespace cyclewatch::device
