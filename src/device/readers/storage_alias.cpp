// SPDX-License-Identifier: Apache-2.0
#include "device/readers/storage_alias.h"

#include <utility>

#include "python/guards.h"

namespace cyclewatch::device {
namespace {

using python::OwnedRef;
using torch_api::TorchFunctions;

constexpr std::size_t kHeader = sizeof(PyObject) / sizeof(std::uint64_t);

// Creating a storage of size 0 does not involve the allocator or the profiler. Only torch's C
// tp_new is called, because a program may have replaced __new__. __init__ is not called, because it
// does nothing and is written in Python. Returns null if the program has defined __del__ for the
// type.
OwnedRef empty_storage(const TorchFunctions& torch) noexcept {
    if (torch.storage->tp_finalize != nullptr || torch.storage->tp_del != nullptr) {
        return {};
    }
    const OwnedRef nothing = python::steal(PyTuple_New(0));
    OwnedRef storage = python::steal(
        nothing ? torch.storage_base->tp_new(torch.storage, nothing.get(), nullptr) : nullptr);
    if (storage && PyObject_IS_GC(storage.get()) != 0) {
        PyObject_GC_UnTrack(storage.get());
    }
    return storage;
}

std::uint64_t address_of(const TorchFunctions& torch, PyObject* storage) noexcept {
    return torch_api::number_of(torch_api::get(torch.storage_cdata, storage));
}

// Offset of the StorageImpl pointer in the object, in words; 0 if the pointer does not occur
// exactly once.
std::size_t word_of_address(const TorchFunctions& torch, PyObject* storage) noexcept {
    const auto* const words = reinterpret_cast<const std::uint64_t*>(storage);
    const std::uint64_t address = address_of(torch, storage);
    const std::size_t size =
        static_cast<std::size_t>(torch.storage_base->tp_basicsize) / sizeof *words;
    std::size_t found = 0;
    for (std::size_t word = kHeader; address != 0 && word < size; ++word) {
        if (words[word] == address) {
            if (found != 0) {
                return 0;
            }
            found = word;
        }
    }
    return found;
}

// The word after the virtual table pointer contains both reference counts and, in recent torch
// versions, a flag that is set while the StorageImpl has a Python object.
std::uint64_t* counts_at(std::uint64_t storage) noexcept {
    return reinterpret_cast<std::uint64_t*>(storage) + 1;
}
std::uint64_t counts_of(std::uint64_t storage) noexcept {
    return __atomic_load_n(counts_at(storage), __ATOMIC_RELAXED);
}
constexpr std::uint64_t kHasObject = std::uint64_t{1} << 63U;
constexpr std::uint64_t kWeakReference = std::uint64_t{1} << 32U;
// One strong reference, plus the weak reference that all strong references share.
constexpr std::uint64_t kOneReference = kWeakReference | 1U;

}  // namespace

bool StorageAlias::is_marked(std::uint64_t storage) noexcept {
    return counts_of(storage) == (kHasObject | kOneReference);
}

bool StorageAlias::has_object(std::uint64_t storage) const noexcept {
    return has_marker_ && storage != 0 && (counts_of(storage) & kHasObject) != 0;
}

std::uint32_t StorageAlias::strong_references(std::uint64_t storage) noexcept {
    return static_cast<std::uint32_t>(counts_of(storage));
}

void StorageAlias::add_weak_reference(std::uint64_t storage) noexcept {
    __atomic_fetch_add(counts_at(storage), kWeakReference, __ATOMIC_RELAXED);
}

bool StorageAlias::counts_weak_references(const TorchFunctions& torch) const noexcept {
    const std::uint64_t storage = address_of(torch, object_.get());
    const std::uint64_t before = counts_of(storage);
    const OwnedRef handle = torch_api::call(torch.storage_weak_ref, object_.get());
    const bool counted =
        torch_api::number_of(handle) == storage && counts_of(storage) == before + kWeakReference;
    const OwnedRef result =
        handle ? torch_api::call(torch.storage_free_weak_ref, handle.get()) : OwnedRef();
    return counted && counts_of(storage) == before;
}

std::uint64_t& StorageAlias::pointer() const noexcept {
    return reinterpret_cast<std::uint64_t*>(object_.get())[word_];
}

bool StorageAlias::works_for(const TorchFunctions& torch, PyObject* other) const {
    const std::uint64_t address = address_of(torch, other);
    const View view(*this, address);
    return word_of_address(torch, other) == word_ && address_of(torch, view.object()) == address;
}

bool StorageAlias::set_up(const TorchFunctions& torch) noexcept {
    const python::GcPause pause;  // creating an object may start a collection
    const python::YoungCountGuard young_count;
    object_ = empty_storage(torch);
    const OwnedRef second = empty_storage(torch);
    const OwnedRef third = empty_storage(torch);
    bool proven = false;
    if (object_ && second && third) {
        word_ = word_of_address(torch, object_.get());
        const std::uint64_t own = address_of(torch, object_.get());
        proven = word_ != 0 && works_for(torch, second.get()) && works_for(torch, third.get()) &&
                 address_of(torch, object_.get()) == own;
        has_marker_ = proven && is_marked(own) && is_marked(address_of(torch, second.get())) &&
                      is_marked(address_of(torch, third.get())) && counts_weak_references(torch);
    }
    PyErr_Clear();
    return proven;
}

StorageAlias::View::View(const StorageAlias& alias, std::uint64_t storage) noexcept
    : alias_(alias), own_(std::exchange(alias.pointer(), storage)) {}

StorageAlias::View::~View() {
    alias_.pointer() = own_;
}

}  // namespace cyclewatch::device
