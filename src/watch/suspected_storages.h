// SPDX-License-Identifier: Apache-2.0
// The storages that searches for never freed memory have found. A storage is reported only if
// several consecutive searches find it, because an autograd graph that still waits for its backward
// pass may contain the same cycles. Two consecutive searches are enough if the second of them finds
// more storages of the same size than the first. Holds weak references only.
//
// REQUIRES (everything here): GIL held. RUNS PYTHON: never.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "device/owner_reader.h"

namespace cyclewatch::watch {

class SuspectedStorages {
  public:
    // Starts a search. A storage is settled if the search `settle` searches ago and all later ones
    // have found it, or if the previous search found it and this one finds more storages of its
    // size.
    void begin(int settle) noexcept;
    // Call this for each storage that the search finds. If the storage is not settled, may move the
    // weak reference out of `reading`. May throw std::bad_alloc.
    [[nodiscard]] bool is_settled(device::OwnerReading& reading);
    // Ends the search. Forgets the storages that it did not find. Returns true if some storages are
    // settled only now, because their number has grown: is_settled() then returns true for them.
    // May throw std::bad_alloc.
    [[nodiscard]] bool end();

    // The number and the total size of the storages that the last search found but that are not
    // settled.
    [[nodiscard]] std::uint64_t count() const noexcept { return suspected_; }
    [[nodiscard]] std::uint64_t bytes() const noexcept { return suspected_bytes_; }

  private:
    struct Entry {
        std::unique_ptr<device::WeakStorage> storage;  // null: a storage that cannot be observed
        std::uint64_t bytes = 0;
        std::uint64_t first = 0;  // numbers of searches
        std::uint64_t last = 0;
    };
    using Group = std::pair<std::string, std::uint64_t>;  // device and size
    [[nodiscard]] bool is_settled(const Group& group, const Entry& entry) const {
        const std::uint64_t age = search_ - entry.first;
        return age >= settle_ || (age > 0 && growing_.contains(group));
    }

    std::map<std::pair<std::string, std::uint64_t>, Entry> known_;  // by device and identity
    std::map<Group, std::uint64_t> counts_;                         // in the last search
    std::set<Group> growing_;  // more in this search than in the one before it
    std::uint64_t search_ = 0;
    std::uint64_t settle_ = 0;
    std::uint64_t suspected_ = 0;
    std::uint64_t suspected_bytes_ = 0;
};

}  // namespace cyclewatch::watch
