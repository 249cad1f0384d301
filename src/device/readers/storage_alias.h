// SPDX-License-Identifier: Apache-2.0
// Questions to the storage of a tensor without a Python object for it.
//
// Whoever asks torch for a storage gets a Python object that torch then keeps as long as the
// storage. Autograd shares no buffer any more that has one, its threads wait for the GIL to let it
// go, and the collector counts it. So a storage object of our own is made to show other storages:
// torch's C functions find the storage by one pointer in it, which is exchanged for a moment.
#pragma once

#include <Python.h>

#include <cstddef>
#include <cstdint>

#include "device/readers/torch_functions.h"
#include "python/references.h"

namespace cyclewatch::device {

// REQUIRES (everything here): GIL held. RUNS PYTHON: never user code.
class StorageAlias {
  public:
    // Looks for the pointer in empty storages made for that, and proves that torch goes by it.
    // False if it does not: storages have to be asked for then. Leaves no error set.
    [[nodiscard]] bool set_up(const torch_api::TorchFunctions& torch) noexcept;

    // The storage object, which shows `storage` (a StorageImpl, as torch._C._storage_address says)
    // until the scope ends. Takes no reference: who looks sees to it that the storage lives.
    // REQUIRES: set_up() was true; one at a time.
    class View {
      public:
        View(const StorageAlias& lens, std::uint64_t storage) noexcept;
        View(const View&) = delete;
        View& operator=(const View&) = delete;
        ~View();
        [[nodiscard]] PyObject* object() const noexcept { return lens_.object_.get(); }

      private:
        const StorageAlias& lens_;
        std::uint64_t own_;
    };

  private:
    [[nodiscard]] std::uint64_t& pointer() const noexcept;
    [[nodiscard]] bool shows(const torch_api::TorchFunctions& torch, PyObject* other) const;

    python::OwnedRef object_;  // torch.UntypedStorage(0), in no list of the collector
    std::size_t word_ = 0;     // where the pointer is, in words from its beginning
};

}  // namespace cyclewatch::device
