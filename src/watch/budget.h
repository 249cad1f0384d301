// SPDX-License-Identifier: Apache-2.0
// Chooses how thoroughly to search and analyze the unreachable objects of a collection, given the
// time that the watch has spent so far.
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

// A watch that exceeds its budget samples collections: it searches a collection only if the budget
// for the time since the last search covers the expected cost. Time spent before the last search is
// ignored, so a single long analysis does not block later searches.
class Budget {
  public:
    // A watch may always spend this many seconds, regardless of its budget.
    static constexpr double kGraceSeconds = 0.25;

    // `share` is the allowed share of wall time; 0.01 is 1%.
    explicit Budget(double share) : share_(share) {}

    // `spent`: seconds spent in the watch. `elapsed`: seconds since the watch began.
    [[nodiscard]] bool allows(double spent, double elapsed) const noexcept {
        return share_ >= 1 || spent <= kGraceSeconds + share_ * elapsed;
    }
    // True if the budget allows searching a collection like the last one. If not, the caller can
    // skip listing the unreachable objects, which also takes time.
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
    // Call this after searching a collection. `seconds` is the duration of the search and is
    // included in `spent`.
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

    // True if the search is not expected to exceed the budget. Searches of small collections are
    // assumed to take no time. The first searches are also assumed to take no time, because their
    // duration cannot be predicted.
    [[nodiscard]] bool fits(double spent, double elapsed, std::uint64_t objects) const noexcept {
        const bool is_known = spent > kGraceSeconds / 2 && objects >= kManyObjects;
        return allows(spent + (is_known ? seconds_for(objects) : 0), elapsed);
    }
    // The time that the budget has allowed since the last search, minus the time spent since then,
    // in seconds.
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
    double per_search_ = 50e-6;  // estimated cost of a search over budget, in seconds
    double per_object_ = 0.5e-6;
};

}  // namespace cyclewatch::watch
