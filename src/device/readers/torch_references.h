// SPDX-License-Identifier: Apache-2.0
// Counts the references from C++ to a storage, so that a scan can determine whether the storage
// dies with its owners.
#pragma once

#include <Python.h>

#include <cstdint>

#include "device/owner_reader.h"
#include "device/readers/storage_alias.h"
#include "device/readers/torch_functions.h"

namespace cyclewatch::device {

// REQUIRES (everything here): GIL held, __torch_function__ disabled. RUNS PYTHON: no user code. May
// leave a Python error set.
class TorchReferences {
  public:
    // `alias` is null if StorageAlias::set_up() failed. The arguments must outlive this object.
    void set_up(const torch_api::TorchFunctions& torch, StorageAlias* alias) noexcept {
        torch_ = &torch;
        alias_ = alias;
    }

    // Implements OwnerReader::count_references(), but ignores the elements of OwnerReading::parts.
    void count(PyObject* object, OwnerReading& reading);

    // The number to add to `known_references` of a gradient: 1 for the reference from its tensor,
    // minus the Python references of unknown origin. REQUIRES: the caller owns one reference.
    [[nodiscard]] static std::int64_t known_to_gradient(PyObject* gradient) noexcept;

    // Implements OwnerReader::hidden_references(). If C++ code holds further references to a tensor
    // or storage, torch keeps a reference to its Python object.
    [[nodiscard]] Py_ssize_t hidden(PyObject* object) const noexcept;

  private:
    [[nodiscard]] std::uint64_t use_count_of(PyObject* storage) const noexcept;
    void add_base(PyObject* tensor, std::uint64_t storage, OwnerReading& reading);
    void add_storage_object(PyObject* tensor, std::uint64_t storage, OwnerReading& reading);

    const torch_api::TorchFunctions* torch_ = nullptr;
    StorageAlias* alias_ = nullptr;
    // The reference count of a Python object to which only C++ code and this reader refer; 0 if not
    // known yet.
    Py_ssize_t unshared_refcount_ = 0;
};

}  // namespace cyclewatch::device
