// SPDX-License-Identifier: Apache-2.0
// The storages that scans have reported and that still exist. Neither a later scan nor the
// collection that frees these storages may count them again. The class is also used for the
// storages that existed before a test. Holds weak references only.
//
// REQUIRES (everything here): GIL held. RUNS PYTHON: never.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "device/owner_reader.h"
#include "model/finding.h"
#include "python/references.h"

namespace cyclewatch::watch {

// One of these storages. `storage` and `signatures`: see ReportedStorages::add().
struct ReportedStorage {
    std::string device;
    std::uint64_t storage = 0;
    std::uint64_t bytes = 0;
    model::Collected state = model::Collected::not_yet;
    std::vector<std::string> signatures;
};

class ReportedStorages {
  public:
    [[nodiscard]] bool empty() const noexcept { return known_.empty(); }
    [[nodiscard]] bool contains(const std::string& device, std::uint64_t storage) const {
        return !known_.empty() && known_.contains({device, storage});
    }
    // Moves the weak reference to the storage out of `reading`. If `reading` contains none, `owner`
    // is a weak reference to the owner of the storage. `owner` may be null. `signatures`: the
    // signatures of the findings in which the storage was reported.
    void add(device::OwnerReading& reading,
             python::OwnedRef owner,
             model::Collected state,
             std::vector<std::string> signatures);
    // The same for a storage that only the autograd graph of an owner keeps. remaining() ignores
    // it.
    void add_saved(device::OwnerReading& reading,
                   model::Collected state,
                   std::vector<std::string> signatures);
    // Forgets the storages that were freed and returns their total size in bytes. Call this before
    // each scan and each collection, because the address of a freed storage may be reused.
    std::uint64_t forget_freed() noexcept;
    [[nodiscard]] std::vector<ReportedStorage> list() const;
    // The total size of the storages on each device, in bytes.
    [[nodiscard]] std::map<std::string, std::uint64_t> sizes() const;
    // True if forget_freed() has forgotten a storage since the last call to take_changed().
    [[nodiscard]] bool take_changed() noexcept { return std::exchange(changed_, false); }
    // The storages of a signature that still exist: the worst state that was passed to add(), as
    // `never` is worse than `not_yet`, and the total size in bytes.
    struct Remaining {
        model::Collected state = model::Collected::yes;
        std::uint64_t bytes = 0;
    };
    [[nodiscard]] std::map<std::string, Remaining> remaining() const;

  private:
    struct Entry {
        std::unique_ptr<device::WeakStorage> storage;
        python::OwnedRef owner;
        model::Collected state;
        std::uint64_t bytes;
        std::vector<std::string> signatures;
        bool is_saved = false;
    };
    [[nodiscard]] static bool is_freed(const Entry& entry) noexcept;

    std::map<std::pair<std::string, std::uint64_t>, Entry> known_;  // by device and identity
    bool changed_ = false;
};

}  // namespace cyclewatch::watch
