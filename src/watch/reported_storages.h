// SPDX-License-Identifier: Apache-2.0
// The storages that scans have reported and that still exist, so that a later scan or the
// collection that frees them does not count them again. Holds weak references only.
//
// REQUIRES (everything here): GIL held. RUNS PYTHON: never.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "device/owner_reader.h"
#include "model/finding.h"
#include "python/references.h"

namespace cyclewatch::watch {

class ReportedStorages {
  public:
    [[nodiscard]] bool contains(const std::string& device, std::uint64_t storage) const {
        return !known_.empty() && known_.contains({device, storage});
    }
    // Takes the weak references of the reading. `owner`: a weak reference to the owner, for a
    // storage without one; may be null.
    void add(device::OwnerReading& reading, python::OwnedRef owner, model::Collected state);
    // Forgets the storages that were freed. Call it before each scan and each collection,
    // because the address of a freed storage may be used again.
    void forget_freed() noexcept;
    // True if a storage that was reported in this state still exists.
    [[nodiscard]] bool any(model::Collected state) const {
        return counts_[static_cast<std::size_t>(state)] > 0;
    }

  private:
    struct Entry {
        std::unique_ptr<device::WeakStorage> storage;
        python::OwnedRef owner;
        model::Collected state;
    };
    [[nodiscard]] static bool is_freed(const Entry& entry) noexcept;

    std::map<std::pair<std::string, std::uint64_t>, Entry> known_;     // by device and identity
    std::array<std::size_t, model::kCollectedWords.size()> counts_{};  // by state
};

}  // namespace cyclewatch::watch
