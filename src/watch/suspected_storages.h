// SPDX-License-Identifier: Apache-2.0
// The storages that searches for never freed memory have found. A storage is reported only if
// several consecutive searches find it, because an autograd graph that still waits for its backward
// pass may contain the same cycles. Holds weak references only.
//
// REQUIRES (everything here): GIL held. RUNS PYTHON: never.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "device/owner_reader.h"

namespace cyclewatch::watch {

class SuspectedStorages {
  public:
    // Starts a search. A storage is settled if the search `settle` searches ago and all later ones
    // have found it.
    void begin(int settle) noexcept;
    // Call this for each storage that the search finds. If the storage is not settled, may move the
    // weak reference out of `reading`. May throw std::bad_alloc.
    [[nodiscard]] bool is_settled(device::OwnerReading& reading);
    // Ends the search. Forgets the storages that it did not find.
    void end() noexcept;

    // The number and the total size of the storages that the last search found but that are not
    // settled.
    [[nodiscard]] std::uint64_t count() const noexcept;
    [[nodiscard]] std::uint64_t bytes() const noexcept;

  private:
    struct Entry {
        std::unique_ptr<device::WeakStorage> storage;  // null: a storage that cannot be observed
        std::uint64_t bytes = 0;
        std::uint64_t first = 0;  // numbers of searches
        std::uint64_t last = 0;
    };
    [[nodiscard]] bool is_settled(const Entry& entry) const noexcept {
        return search_ - entry.first >= settle_;
    }

    std::map<std::pair<std::string, std::uint64_t>, Entry> known_;  // by device and identity
    std::uint64_t search_ = 0;
    std::uint64_t settle_ = 0;
};

}  // namespace cyclewatch::watch
