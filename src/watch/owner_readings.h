// SPDX-License-Identifier: Apache-2.0
// Reads the owners of one collection, and determines which of them share a storage.
//
// REQUIRES (everything here): GIL held. May throw std::bad_alloc.
#pragma once

#include <Python.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "device/claim_check.h"
#include "device/owner_detector.h"
#include "device/owner_reader.h"
#include "python/references.h"
#include "watch/captured_collection.h"

namespace cyclewatch::watch {

// Returns true if a scan must not report the storage of a reading, for example because an earlier
// scan has reported it. May move the weak reference out of the reading.
using KnownStorages = std::function<bool(device::OwnerReading& reading)>;

// Reads the owners of one collection into a CapturedCollection.
class OwnerReadings {
  public:
    // Only owners on devices that `watched` accepts are added. For a scan, `known` is not null. A
    // scan skips each owner whose reading `known` accepts, and counts the references to all other
    // storages. Owners that `claims` contradicts are counted instead of added; nothing is checked
    // if `claims` is null. `explained`: all references to the owners are known, including those
    // from C++.
    OwnerReadings(CapturedCollection& collection,
                  const DeviceFilter& watched,
                  const KnownStorages* known,
                  device::ClaimCheck* claims,
                  bool explained = false);

    // Reads all owners except those whose reader is user code. The remaining owners are kept alive,
    // so that read_with_user_code() can read them. Memory that several storages overlap, such as
    // parts of a NumPy array or of a mapped file, is counted with one of them: with a tensor rather
    // than a storage that no tensor shows, then with the largest. RUNS PYTHON: never.
    void read(const std::vector<device::DetectedOwner>& owners);
    // Reads the remaining owners. RUNS PYTHON: user code, so borrowed references must not be used
    // afterwards.
    void read_with_user_code();

    // The objects that own watched memory, followed by the objects with a user-registered reader.
    [[nodiscard]] std::span<PyObject* const> objects() const noexcept { return objects_; }
    // True if read_with_user_code() has owners to read.
    [[nodiscard]] bool needs_user_code() const noexcept { return !user_owners_.empty(); }

  private:
    // Holds a strong reference, because user code may drop the last other reference.
    struct UserOwner {
        python::OwnedRef object;
        device::OwnerReader* reader = nullptr;
    };

    bool add(PyObject* object, device::OwnerReader& reader, std::size_t position);
    bool is_watched(const std::string& device);
    bool is_contradicted(PyObject* object,
                         const device::OwnerReader& reader,
                         const device::OwnerReading& reading);
    static void count_references(PyObject* object,
                                 device::OwnerReader& reader,
                                 bool explained,
                                 device::OwnerReading& reading);
    void add_parts(PyObject* object, std::size_t parent, std::size_t position);
    // Sets the fields that depend on owner.reading.
    void complete(PendingOwner& owner, std::size_t position);
    const std::string& type_name_of(PyObject* owner);
    void count_unshared();
    void unify_sizes();
    void count_overlaps_once();
    std::size_t storage_index(const device::OwnerReading& reading);

    CapturedCollection& collection_;
    const DeviceFilter& watched_;
    const KnownStorages* known_;
    device::ClaimCheck* claims_;
    bool explained_;
    std::vector<PyObject*> objects_;
    std::vector<UserOwner> user_owners_;
    std::string watched_device_;          // the last one that watched_ accepted
    PyTypeObject* named_type_ = nullptr;  // the last one, whose name is type_name_
    std::string type_name_;
    // A hash table of the storages, keyed by identity. Its initial size assumes one storage per
    // owner.
    static constexpr std::uint32_t kNone = UINT32_MAX;
    struct Link {
        std::uint64_t identity = 0;
        std::uint32_t next = kNone;  // the next storage with the same hash
    };
    std::vector<std::uint32_t> first_storages_;  // by hash
    std::vector<Link> links_;                    // by storage
};

}  // namespace cyclewatch::watch
