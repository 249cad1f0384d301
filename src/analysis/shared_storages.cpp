// SPDX-License-Identifier: Apache-2.0
#include "analysis/shared_storages.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <unordered_map>
#include <vector>

namespace cyclewatch::analysis {
namespace {

// Maximum number of pairs of findings to examine. If there are more pairs, shared_with is a lower
// bound.
constexpr std::uint64_t kMostPairs = 4'000'000;

class SharedStorages {
  public:
    SharedStorages(std::span<FindingBuilder> builders,
                   std::span<const std::uint32_t> builder_of,
                   const RetainedSize& retained,
                   const model::Observation& observation)
        : builders_(builders),
          builder_of_(builder_of),
          retained_(retained),
          observation_(observation) {}

    void run() {
        list_sharers();
        resolve_unshared();
        group_by_sharers();
        count_others();
        attribute();
    }

  private:
    // The index of the finding that retains `storage`, or kNone.
    [[nodiscard]] std::uint32_t holder_of(std::uint32_t storage) const {
        const std::uint32_t keeper = retained_.keeper_of(static_cast<model::StorageId>(storage));
        return keeper == kNone ? kNone : builder_of_[keeper];
    }

    void list_sharers() {
        for (std::uint32_t b = 0; b < builders_.size(); ++b) {
            for (const auto& [storage, copies] : builders_[b].shared()) {
                sharers_[storage].push_back(b);
            }
        }
    }

    // A storage that is reachable only from cycles of one finding is retained by that finding.
    void resolve_unshared() {
        for (auto& [storage, sharers] : sharers_) {
            const auto id = static_cast<model::StorageId>(storage);
            const std::uint32_t holder = holder_of(storage);
            if (holder != kNone && std::erase(sharers, holder) > 0) {
                builders_[holder].drop_shared(storage);
            }
            if (sharers.size() == 1 && retained_.keeper_of(id) == kNone &&
                !retained_.is_kept_from_outside(id)) {
                builders_[sharers.front()].retain_shared(storage);
            }
        }
    }

    // Many storages are shared by the same findings, so process each set of findings once.
    void group_by_sharers() {
        for (auto& [storage, sharers] : sharers_) {
            const std::uint32_t holder = holder_of(storage);
            if (holder != kNone) {
                sharers.insert(std::ranges::lower_bound(sharers, holder), holder);
            }
            if (sharers.size() > 1) {
                sets_.insert(std::move(sharers));
            }
        }
    }

    void count_others() {
        std::vector<std::vector<const std::vector<std::uint32_t>*>> sets_of(builders_.size());
        std::uint64_t pairs = 0;
        for (const std::vector<std::uint32_t>& sharers : sets_) {
            pairs += sharers.size() * sharers.size();
            for (const std::uint32_t b : sharers) {
                sets_of[b].push_back(&sharers);
            }
        }
        std::vector<std::uint32_t> counted_for(builders_.size(), kNone);
        for (std::uint32_t b = 0; b < builders_.size(); ++b) {
            std::uint64_t others = 0;
            for (const auto* const sharers : sets_of[b]) {
                if (pairs > kMostPairs) {
                    others = std::max<std::uint64_t>(others, sharers->size() - 1);
                    continue;
                }
                for (const std::uint32_t other : *sharers) {
                    others += other != b && counted_for[other] != b ? 1 : 0;
                    counted_for[other] = b;
                }
            }
            if (!builders_[b].shared().empty()) {
                builders_[b].set_shared_with(others);
            }
        }
    }

    void attribute() {
        std::vector<std::uint32_t> order(builders_.size());
        std::iota(order.begin(), order.end(), 0U);
        std::ranges::sort(order, [&](std::uint32_t a, std::uint32_t b) {
            return model::ranks_before(builders_[a].finding(), builders_[b].finding());
        });
        std::vector<bool> attributed(observation_.storages.size(), false);
        for (const std::uint32_t b : order) {
            std::uint64_t known = 0;
            std::uint64_t mine = 0;
            for (const auto& [storage, copies] : builders_[b].shared()) {
                const std::uint64_t bytes = observation_.storages[storage].bytes * copies;
                known += bytes;
                if (!attributed[storage] && holder_of(storage) == kNone) {
                    attributed[storage] = true;
                    mine += bytes;
                }
            }
            builders_[b].attribute(known, mine);
        }
    }

    std::span<FindingBuilder> builders_;
    std::span<const std::uint32_t> builder_of_;
    const RetainedSize& retained_;
    const model::Observation& observation_;
    // Per shared storage, the findings that can reach the storage but do not retain it, in
    // ascending order.
    std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> sharers_;
    std::set<std::vector<std::uint32_t>> sets_;  // distinct sets of sharers
};

}  // namespace

void attribute_shared_storages(std::span<FindingBuilder> builders,
                               std::span<const std::uint32_t> builder_of,
                               const RetainedSize& retained,
                               const model::Observation& observation) {
    SharedStorages(builders, builder_of, retained, observation).run();
}

}  // namespace cyclewatch::analysis
