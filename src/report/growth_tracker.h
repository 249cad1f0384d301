// SPDX-License-Identifier: Apache-2.0
// Compares the censuses (lists of all reachable owners) of one watch, and finds the groups of
// owners whose memory use is growing. Not thread-safe; never calls Python. May throw
// std::bad_alloc.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/retention.h"

namespace cyclewatch::report {

// Sorts by growth rate, fastest first. The rate of an autograd graph counts four times.
void sort_growing(std::vector<model::GrowingOwner>& growing);

class GrowthTracker {
  public:
    // The size of a group rose in a census if it exceeded the previous maximum in that census and
    // has remained above that maximum since. A group is classified as growing if its size rose in
    // the latest census, and in at least kRises of the last kComparisons censuses. Therefore a
    // group whose memory use repeatedly rises and falls is reported only during its first rise. A
    // growing group remains listed as long as its size rose in at least kRises of the last
    // kComparisons censuses.
    static constexpr std::size_t kComparisons = 5;
    static constexpr std::size_t kRises = 3;
    static constexpr std::size_t kMaxGroups = 10'000;  // others are ignored
    static constexpr std::size_t kMaxGrowing = 100;
    static constexpr std::uint64_t kMinNodes = 20;

    // Owners of one type on one device whose paths differ only in what is in brackets, or in the
    // numbers of names, also form a group, such as a cache with one tensor of another shape for
    // each key. So do owners of one shape and dtype whose paths differ only in the last brackets:
    // this is the group to which a census assigns them once their dict is large. These groups are
    // classified as growing unless one of the groups of which they consist is growing.
    //
    // Adds a census that was taken after `at` steps or seconds. Returns the groups that are growing
    // for the first time, fastest-growing first. Groups smaller than `min_bytes` are never
    // classified as growing, unless the autograd graphs that they keep alive are growing: the
    // number of nodes rises as described above and exceeds kMinNodes.
    std::vector<model::GrowingOwner> add(double at,
                                         std::span<const model::LiveOwner> owners,
                                         model::GrowthUnit unit,
                                         std::uint64_t min_bytes);

    // The groups that are growing, fastest-growing first.
    [[nodiscard]] std::vector<model::GrowingOwner> growing() const;

  private:
    struct Group {
        // Keys of the groups that also count the owners; "" if none.
        std::string container;  // of all shapes and keys
        std::string any_key;    // of all keys
        bool is_mixed = false;  // of owners with different shapes or keys
        bool is_own = false;    // the group of owners in the last census, not only a sum of groups
        std::deque<std::uint64_t> bytes;  // at each of times_
        std::uint64_t peak = 0;           // of earlier censuses
        std::deque<std::uint64_t> nodes;  // of autograd graphs, at each of times_
        std::uint64_t peak_nodes = 0;
        model::LiveOwner last;  // in the last census that found the group
        std::optional<model::GrowingOwner> growing;
        bool reported = false;
    };
    void store(std::span<const model::LiveOwner> owners);
    // Returns null if there are too many groups.
    Group* store_in(const std::string& key, const model::LiveOwner& owner);
    void update(Group& group, model::GrowthUnit unit, std::uint64_t min_bytes) const;

    std::deque<double> times_;  // of the last kComparisons + 1 censuses
    std::map<std::string, Group> groups_;
};

}  // namespace cyclewatch::report
