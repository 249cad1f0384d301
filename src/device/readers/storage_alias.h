// SPDX-License-Identifier: Apache-2.0
// Calls torch's storage functions on the storage of a tensor without creating a Python storage
// object.
//
// Tensor.untyped_storage() creates a Python object that lives as long as the storage. This object
// has side effects. autograd does not accumulate in place into a gradient whose storage has a
// Python object. An autograd thread that frees the storage must acquire the GIL to free the object,
// and the collector counts the object. Therefore, the StorageImpl pointer of our own storage object
// is replaced temporarily.
#pragma once

#include <Python.h>

#include <cstddef>
#include <cstdint>

#include "device/readers/torch_functions.h"
#include "python/references.h"

namespace cyclewatch::device {

// REQUIRES (everything here): GIL held. RUNS PYTHON: no user code.
class StorageAlias {
  public:
    // Locates the StorageImpl pointer in storage objects created for this purpose, and verifies
    // that torch reads this pointer. If this fails, returns false, and the alias must not be used.
    // Does not leave an error set.
    [[nodiscard]] bool set_up(const torch_api::TorchFunctions& torch) noexcept;

    // True if the StorageImpl at address `storage` has a Python object. Always false if
    // has_marker() is false. REQUIRES: set_up() returned true.
    [[nodiscard]] bool has_object(std::uint64_t storage) const noexcept;
    // Call this if has_object() returned a wrong result. From then on, has_object() returns false.
    void distrust_marker() noexcept { has_marker_ = false; }
    // True if this version of torch marks C++ objects that have a Python object. These torch
    // versions also keep one reference to the Python object as long as C++ code refers to the C++
    // object.
    [[nodiscard]] bool has_marker() const noexcept { return has_marker_; }

    // The number of strong references to the StorageImpl at address `storage`. May be called for an
    // expired StorageImpl if a weak reference to it exists. REQUIRES (this and the next function):
    // has_marker().
    [[nodiscard]] static std::uint32_t strong_references(std::uint64_t storage) noexcept;
    // As StorageBase._weak_ref() does.
    static void add_weak_reference(std::uint64_t storage) noexcept;

    // While the View exists, object() refers to the StorageImpl at address `storage` (as returned
    // by torch._C._storage_address). Does not own a reference to the StorageImpl, which the caller
    // must keep alive. REQUIRES: set_up() returned true; at most one View exists.
    class View {
      public:
        View(const StorageAlias& alias, std::uint64_t storage) noexcept;
        View(const View&) = delete;
        View& operator=(const View&) = delete;
        ~View();
        [[nodiscard]] PyObject* object() const noexcept { return alias_.object_.get(); }

      private:
        const StorageAlias& alias_;
        std::uint64_t own_;
    };

  private:
    [[nodiscard]] std::uint64_t& pointer() const noexcept;
    [[nodiscard]] static bool is_marked(std::uint64_t storage) noexcept;
    // True if torch counts weak references as add_weak_reference() does.
    [[nodiscard]] bool counts_weak_references(
        const torch_api::TorchFunctions& torch) const noexcept;
    // True if a View that was created for the storage of `other` actually refers to this storage.
    [[nodiscard]] bool works_for(const torch_api::TorchFunctions& torch, PyObject* other) const;

    python::OwnedRef object_;  // torch.UntypedStorage(0), untracked
    std::size_t word_ = 0;     // offset of the pointer in the object, in words
    bool has_marker_ = false;
};

}  // namespace cyclewatch::device
