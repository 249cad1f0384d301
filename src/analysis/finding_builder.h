// SPDX-License-Identifier: Apache-2.0
// Builds one finding from all cycles with the same signature. The finding describes the first
// cycle, which must be the largest, unless another one requires more cuts. The other cycles
// contribute only counts, bytes and owners.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "analysis/component.h"
#include "analysis/occurrence_weights.h"
#include "analysis/owner_walk.h"
#include "model/finding.h"
#include "model/observation.h"

namespace cyclewatch::analysis {

class FindingBuilder {
  public:
    // `description` describes the cycle of `component`. The other arguments must outlive this
    // object.
    FindingBuilder(model::Finding description,
                   const Component& component,
                   const model::Observation& observation,
                   const RetainedSize& retained);

    // True if the reference to cut is on the cycle, or if there is no reference to cut.
    [[nodiscard]] bool is_cut_of_cycle() const {
        return finding_.cut.empty() || !finding_.cut.front().payload;
    }

    // True if the cycle of `component` may require more cuts than the described one. At most
    // kMostDescriptions times.
    [[nodiscard]] bool may_need_more_cuts(const Component& component) const {
        return component.edges.size() > described_references_ && descriptions_ < kMostDescriptions;
    }
    // Replaces the description if that of `component` has more cuts: they also break the cycles
    // that require fewer. Keeps the signature, counts and bytes.
    void describe_again(model::Finding description, const Component& component);

    // Adds the counts and bytes of the cycle of `component`, and the owners that `walk` reached
    // from it, if it was `walked`. Resets freed_share to unknown if `component` and the described
    // component have different sizes, because the cut may free a different fraction of the memory
    // of each.
    void count(const Component& component,
               bool walked,
               const OwnerWalk& walk,
               const Weight& weight);

    // The storages that are reachable from cycles of this finding but are not retained by any of
    // them. Maps each storage to the number of equal storages that it represents (see
    // Weight::equal()).
    [[nodiscard]] const std::unordered_map<StorageId, std::uint64_t>& shared() const {
        return shared_;
    }
    // Adds the counts, bytes and owners of `other`, which has the same cause. Keeps this finding's
    // description, and the lexicographically smaller of the two signatures. Must be called before
    // the functions below.
    void absorb(FindingBuilder&& other);

    // Counts the shared `storage` as retained, because it is reachable only from cycles of this
    // finding.
    void retain_shared(StorageId storage);
    // Removes `storage` from shared(), because another cycle of this finding retains it.
    void drop_shared(StorageId storage);
    void set_shared_with(std::uint64_t findings) { finding_.shared_with = findings; }
    // Assigns `mine` of the `known` bytes in shared() to this finding. Shared bytes of clusters
    // that were counted but not captured are assigned in the same proportion.
    void attribute(std::uint64_t known, std::uint64_t mine);

    // The finding as built so far, without its owners.
    [[nodiscard]] const model::Finding& finding() const { return finding_; }
    // Adds the owners and returns the finding. Call it once.
    [[nodiscard]] model::Finding finish();

  private:
    struct OwnerGroup {
        std::uint64_t key = 0;  // ReachedOwner::group
        model::OwnerSummary summary;
        std::string generic_path;  // path with [x] instead of indices
        std::uint64_t path_hash = 0;
        bool several_paths = false;  // the owners' paths differ in their indices
    };

    void add_owner(const ReachedOwner& reached, const OwnerWalk& walk, const Weight& weight);
    void absorb_owners(FindingBuilder&& other);

    const CollapsedGraph& graph_;
    const model::Observation& observation_;
    const RetainedSize& retained_;
    model::Finding finding_;
    std::size_t described_nodes_;
    std::size_t described_references_;
    static constexpr int kMostDescriptions = 4;
    int descriptions_ = 1;
    std::unordered_map<std::uint64_t, std::size_t> group_of_;  // by key: index
    std::vector<OwnerGroup> groups_;
    std::unordered_set<std::uint64_t> omitted_groups_;
    std::unordered_map<StorageId, std::uint64_t> shared_;
    std::unordered_set<OwnerId> shared_owners_;      // owners of shared storages so far
    std::unordered_set<StorageId> shared_storages_;  // including those not released
};

// A finding of the collection.
enum class FindingIx : std::uint32_t {};
using Builders = IndexedVector<FindingIx, FindingBuilder>;

// The findings in the order of model::ranks_before().
[[nodiscard]] std::vector<FindingIx> ranked(const Builders& builders);

}  // namespace cyclewatch::analysis
