// SPDX-License-Identifier: Apache-2.0
// Reads tensors without autograd state through torch's stable C interface. The functions of this
// interface are ten times as fast as torch's Python functions.
//
// The interface does not provide the address of the storage, which is therefore read from the C++
// objects. The offsets of the fields are not hard-coded: learn() finds them by searching for the
// values that torch's Python functions returned. It verifies every value for each C++ class, device
// and data type before read() is used for tensors of that kind.
#pragma once

#include <Python.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "device/loaded_library.h"
#include "device/owner_reader.h"
#include "device/readers/torch_functions.h"

namespace cyclewatch::device {

// REQUIRES (everything here): GIL held. RUNS PYTHON: no user code. May throw std::bad_alloc.
class PlainTensors {
  public:
    // `torch` must outlive this object.
    void set_up(const torch_api::TorchFunctions& torch);

    // Sets the device, bytes, storage, shape and dtype of `reading`. Returns the address of the
    // StorageImpl. Returns 0 without changing `reading` if the tensor must be read in another way.
    [[nodiscard]] std::uint64_t read(PyObject* tensor, OwnerReading& reading);

    // `reading` must contain the results of torch's Python functions. May leave a Python error set.
    void learn(PyObject* tensor, const OwnerReading& reading);

  private:
    using Handle = const void*;  // AtenTensorHandle: the address of an at::Tensor
    using Getter32 = std::int32_t(Handle, std::int32_t*);
    using Getter64 = std::int32_t(Handle, std::int64_t*);

    // Offsets in words, and the virtual table of the C++ class to which they apply.
    struct Layout {
        std::size_t tensor = 0;  // of the TensorImpl pointer in the Python object
        std::size_t storage = 0;
        std::size_t data = 0;
        std::uint64_t virtual_table = 0;
        bool operator==(const Layout&) const = default;
    };
    struct Kind {
        std::int32_t dtype = 0;
        std::int32_t device_type = 0;
        std::int32_t device_index = 0;
        std::int32_t layout = 0;
        bool operator==(const Kind&) const = default;
    };
    struct KnownKind {
        Kind kind;
        std::string dtype;
        std::string device;
    };

    [[nodiscard]] bool has_autograd_state(Handle tensor) const;
    [[nodiscard]] bool kind_of(Handle tensor, Kind& kind) const;
    [[nodiscard]] std::uint64_t bytes_of(Handle tensor) const;
    // The result is empty if the shape is not known. The reference is valid until the next call.
    [[nodiscard]] const std::string& shape_of(Handle tensor);
    [[nodiscard]] const KnownKind* find(const Kind& kind) const noexcept;
    [[nodiscard]] Layout layout_of(PyObject* tensor, std::uint64_t data) const;
    [[nodiscard]] bool agrees(PyObject* tensor, const Layout& layout, const OwnerReading& reading);

    const torch_api::TorchFunctions* torch_ = nullptr;
    LoadedLibrary library_;
    const void* (*autograd_state_)(Handle) = nullptr;
    Getter32* dtype_ = nullptr;
    Getter32* device_type_ = nullptr;
    Getter32* device_index_ = nullptr;
    Getter32* layout_getter_ = nullptr;
    Getter64* bytes_ = nullptr;
    Getter64* dimensions_ = nullptr;
    std::int32_t (*sizes_)(Handle, std::int64_t**) = nullptr;
    bool trusted_ = false;
    Layout layout_;
    std::vector<KnownKind> kinds_;
    std::vector<std::int64_t> sizes_of_shape_;  // of the last tensor; shape_ is their text
    std::string shape_;
};

}  // namespace cyclewatch::device
