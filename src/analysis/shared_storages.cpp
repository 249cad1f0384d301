// SPDX-License-Identifier: Apache-2.0
#include "analysis/shared_storages.h"

#include <algorithm>
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
    SharedStorages(Builders& builders,
                   const IndexedVector<ComponentIx, FindingIx>& builder_of,
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
    // The finding that retains `storage`, or kNone.
    [[nodiscard]] FindingIx holder_of(StorageId storage) const {
        const ComponentIx keeper = retained_.keeper_of(storage);
        return keeper == kNone ? kNone : builder_of_[keeper];
    }

    void list_sharers() {
        for (const FindingIx b : builders_.indexes()) {
            for (const auto& [storage, copies] : builders_[b].shared()) {
                sharers_[storage].push_back(b);
            }
        }
    }

    // A storage that is reachable only from cycles of one finding is retained by that finding.
    void resolve_unshared() {
        for (auto& [storage, sharers] : sharers_) {
            const FindingIx holder = holder_of(storage);
            if (holder != kNone && std::erase(sharers, holder) > 0) {
                builders_[holder].drop_shared(storage);
            }
            if (sharers.size() == 1 && retained_.keeper_of(storage) == kNone &&
                !retained_.is_kept_from_outside(storage)) {
                builders_[sharers.front()].retain_shared(storage);
            }
        }
    }

    // Many storages are shared by the same findings, so process each set of findings once.
    void group_by_sharers() {
        for (auto& [storage, sharers] : sharers_) {
            const FindingIx holder = holder_of(storage);
            if (holder != kNone) {
                sharers.insert(std::ranges::lower_bound(sharers, holder), holder);
            }
            if (sharers.size() > 1) {
                sets_.insert(std::move(sharers));
            }
        }
    }

    void count_others() {
        IndexedVector<FindingIx, std::vector<const Sharers*>> sets_of(builders_.size());
        std::uint64_t pairs = 0;
        for (const Sharers& sharers : sets_) {
            pairs += sharers.size() * sharers.size();
            for (const FindingIx b : sharers) {
                sets_of[b].push_back(&sharers);
            }
        }
        IndexedVector<FindingIx, FindingIx> counted_for(builders_.size(), kNone);
        for (const FindingIx b : builders_.indexes()) {
            std::uint64_t others = 0;
            for (const Sharers* const sharers : sets_of[b]) {
                if (pairs > kMostPairs) {
                    others = std::max<std::uint64_t>(others, sharers->size() - 1);
                    continue;
                }
                for (const FindingIx other : *sharers) {
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
        IndexSet<StorageId> attributed(observation_.storages.size());
        for (const FindingIx b : ranked(builders_)) {
            std::uint64_t known = 0;
            std::uint64_t mine = 0;
            for (const auto& [storage, copies] : builders_[b].shared()) {
                const std::uint64_t bytes = observation_.storage(storage).bytes * copies;
                known += bytes;
                if (holder_of(storage) == kNone && attributed.insert(storage)) {
                    mine += bytes;
                }
            }
            builders_[b].attribute(known, mine);
        }
    }

    using Sharers = std::vector<FindingIx>;  // in ascending order

    Builders& builders_;
    const IndexedVector<ComponentIx, FindingIx>& builder_of_;
    const RetainedSize& retained_;
    const model::Observation& observation_;
    // Per shared storage, the findings that can reach the storage but do not retain it.
    std::unordered_map<StorageId, Sharers> sharers_;
    std::set<Sharers> sets_;
};

}  // namespace

void attribute_shared_storages(Builders& builders,
                               const IndexedVector<ComponentIx, FindingIx>& builder_of,
                               const RetainedSize& retained,
                               const model::Observation& observation) {
    SharedStorages(builders, builder_of, retained, observation).run();
}

}  // namespace cyclewatch::analysis
