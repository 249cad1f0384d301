// SPDX-License-Identifier: Apache-2.0
// Chooses how much of a collection to search and analyze, given the time that the watch has spent
// so far.
#pragma once

#include <algorithm>
#include <cstdint>

namespace cyclewatch::watch {

enum class Depth : std::uint8_t {
    full,
    lean,         // over budget: few objects are named, equal clusters are only counted
    owners_only,  // owners and bytes are counted, no graph is captured
    none,         // over budget: owners are not searched for
};

// When a watch exceeds its budget, collections are sampled, that is, a collection is searched only
// if the budget for the time since the last search covers the expected cost. Spending before the
// last search is ignored, so a single long analysis does not prevent searches for a long time.
class Budget {
  public:
    // Seconds that may always be spent.
    static constexpr double kGraceSeconds = 0.25;

    // `share` is the allowed share of wall time; 0.01 is one per cent.
    explicit Budget(double share) : share_(share) {}

    // `spent` and `elapsed` are seconds since the watch began.
    [[nodiscard]] bool allows(double spent, double elapsed) const noexcept {
        return share_ >= 1 || spent <= kGraceSeconds + share_ * elapsed;
    }
    // False if the budget does not allow searching a collection like the last one. The caller then
    // need not list its objects, which also takes time.
    [[nodiscard]] bool may_search(double spent, double elapsed) const noexcept {
        return fits(spent, elapsed, last_objects_) ||
               saved(spent, elapsed) >= seconds_for(last_objects_);
    }
    // The depth for a collection that found `objects` unreachable objects.
    [[nodiscard]] Depth depth(double spent, double elapsed, std::uint64_t objects) noexcept {
        last_objects_ = objects;
        if (fits(spent, elapsed, objects)) {
            return Depth::full;
        }
        return saved(spent, elapsed) >= seconds_for(objects) ? Depth::lean : Depth::none;
    }
    // Call this after a collection that was searched. `seconds` is the time that the search took,
    // which `spent` includes.
    void searched(double spent, double elapsed, std::uint64_t objects, double seconds) noexcept {
        const bool within = allows(spent_then_, elapsed_then_);
        elapsed_then_ = elapsed;
        spent_then_ = spent;
        if (objects >= kManyObjects) {
            const double rest = std::max(0.0, seconds - per_search_);
            per_object_ = (per_object_ + rest / static_cast<double>(objects)) / 2;
        } else if (!within) {  // the first searches take longer: they analyze new findings
            per_search_ = (per_search_ + seconds) / 2;
        }
    }

  private:
    static constexpr std::uint64_t kManyObjects = 1'000;

    // True if the search is not expected to exceed the budget. No time is estimated for the first
    // searches and for small collections, because the time of a first analysis cannot be predicted.
    [[nodiscard]] bool fits(double spent, double elapsed, std::uint64_t objects) const noexcept {
        const bool is_known = spent > kGraceSeconds / 2 && objects >= kManyObjects;
        return allows(spent + (is_known ? seconds_for(objects) : 0), elapsed);
    }
    // The seconds that the budget has allowed since the last search, minus those spent.
    [[nodiscard]] double saved(double spent, double elapsed) const noexcept {
        return share_ * (elapsed - elapsed_then_) - (spent - spent_then_);
    }
    [[nodiscard]] double seconds_for(std::uint64_t objects) const noexcept {
        return per_search_ + per_object_ * static_cast<double>(objects);
    }

    double share_;
    double elapsed_then_ = 0;  // when a collection was searched last
    double spent_then_ = 0;
    std::uint64_t last_objects_ = 0;
    double per_search_ = 50e-6;  // estimates of what a search over budget takes
    double per_object_ = 0.5e-6;
};

}  // namespace cyclewatch::watch
