// SPDX-License-Identifier: Apache-2.0
// Determines how the search for owners treats the instances of each type. These verdicts are cached
// between collections, because most collections see the same types.
//
// REQUIRES (everything here): GIL held, inside CollectionListener::on_unreachable(). RUNS PYTHON:
// never. ALLOCATES: no.
#pragma once

#include <Python.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "device/owner_registry.h"
#include "python/type_traversal.h"

namespace cyclewatch::device {

// Drops the address bits that are 0 for every object, and mixes in the bits that differ between
// pages.
inline std::size_t hash_pointer(const void* pointer) noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(pointer) >> 4;
    return address ^ (address >> 9);
}

enum class TypeRole : std::uint8_t {
    inert,      // has no references and owns no memory: str, int, float ...
    container,  // may refer to an owner
    owner,
};

// Aligned to a power of two, so that a shift computes the address of a verdict.
struct alignas(128) TypeVerdict {
    python::TypeTraversal traversal;  // omits the reference to a type that outlives the set
    OwnerReader* reader = nullptr;    // of an owner
    std::uint32_t round = 0;          // the collection for which the verdict was last validated
    std::uint32_t version = 0;        // of the type (cyclewatch_type_version())
    TypeRole role = TypeRole::inert;
};

class TypeVerdicts {
  public:
    // Starts a collection. Verdicts are validated at their first use in each collection. Since the
    // previous collection, a type may have changed, or it may have been freed and its address
    // reused.
    void begin(OwnerRegistry& registry) noexcept;

    // The next call may overwrite the verdict; the reference to it remains valid.
    const TypeVerdict& of(PyTypeObject* type) noexcept {
        TypeVerdict& verdict = verdicts_[hash_pointer(type) % verdicts_.size()];
        if (verdict.traversal.type() != type || verdict.round != round_) [[unlikely]] {
            renew(verdict, type);
        }
        return verdict;
    }

    // The verdict on `type` if remember() stored it in this collection and has not replaced it;
    // otherwise, an empty verdict or one on another type. The caller must compare the types.
    [[nodiscard]] const TypeVerdict& remembered(PyTypeObject* type) noexcept {
        return *remembered_[slot_of(type)];
    }
    void remember(const TypeVerdict& verdict) noexcept {
        remembered_[slot_of(verdict.traversal.type())] = &verdict;
    }

  private:
    static std::size_t slot_of(PyTypeObject* type) noexcept {
        return (reinterpret_cast<std::uintptr_t>(type) >> 5) % 256;
    }
    void renew(TypeVerdict& verdict, PyTypeObject* type) noexcept;
    void classify(TypeVerdict& verdict, PyTypeObject* type) noexcept;

    OwnerRegistry* registry_ = nullptr;
    std::uint32_t round_ = 0;
    std::uint32_t registry_version_ = 0;
    std::array<TypeVerdict, 512> verdicts_{};
    // Elements of verdicts_. An element may have been overwritten by the verdict on another type.
    std::array<const TypeVerdict*, 256> remembered_{};
};

// True if `object` is a class that refers to itself through its MRO, as all classes do unless their
// metaclass overrides mro(). Such a class can die with the unreachable set only if it is in the
// set. Otherwise, its MRO is not in the set either and keeps the class alive.
[[nodiscard]] inline bool outlives_set(PyObject* object) noexcept {
    if (PyType_Check(object) == 0) {
        return false;
    }
    PyObject* const mro = reinterpret_cast<PyTypeObject*>(object)->tp_mro;
    return mro != nullptr && PyTuple_GET_SIZE(mro) > 0 && PyTuple_GET_ITEM(mro, 0) == object;
}

}  // namespace cyclewatch::device
