// SPDX-License-Identifier: Apache-2.0
// Puts one finding together from all cycles of one signature. The first cycle it is given is the
// largest and the one that is shown; of the others only numbers are kept.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "analysis/component.h"
#include "analysis/cut.h"
#include "analysis/owner_walk.h"
#include "analysis/representatives.h"
#include "analysis/shortest_cycle.h"
#include "model/finding.h"

namespace cyclewatch::analysis {

// What one occurrence counts for.
struct Weight {
    std::uint64_t copies = 1;        // itself, and those that are equal to it in everything
    std::uint64_t repeats = 0;       // cycles of its shape that were not captured
    std::uint64_t further_held = 0;  // bytes of these
    bool repeats_equal = false;      // these own exactly as much

    // How many are equal to it in everything, itself included.
    [[nodiscard]] std::uint64_t equal() const { return copies + (repeats_equal ? repeats : 0); }
};

class FindingBuilder {
  public:
    FindingBuilder(const CollapsedGraph& graph,
                   const Representatives& representatives,
                   const RetainedSize& held);

    // Everything that is said once. `walk` has just walked `cycle`'s references; `walked` is what
    // it returned.
    void describe(const Component& component,
                  std::uint64_t& work_left,
                  const Cycle& cycle,
                  std::span<const std::uint32_t> cycle_edges,
                  std::string signature,
                  std::uint64_t retained_bytes,
                  const OwnerWalk& walk);

    // The references to drop, rising, where a class is on the cycle and these are not; else none.
    [[nodiscard]] const std::vector<std::uint32_t>& payload_edges() const { return payload_edges_; }
    // True if the reference to cut is on the cycle, or there is none.
    [[nodiscard]] bool is_cut_of_cycle() const {
        return finding_.cut.empty() || !finding_.cut.front().payload;
    }
    // The words of `other`, which was only described; the numbers stay.
    void take_words(FindingBuilder&& other);
    [[nodiscard]] const std::string& signature() const { return finding_.signature; }

    // What the cut frees is not known any more where an occurrence, `component`, is of another size
    // than the described one.
    void compare(const Component& component);

    // Adds the numbers of one occurrence, which is `component`, and the owners that `walk` has
    // just reached.
    void count(std::uint32_t component,
               std::uint64_t retained_bytes,
               bool walked,
               const OwnerWalk& walk,
               const Weight& weight);

    // Storages that the cycles of this finding reach and none of them keeps alone, by index.
    // With each, how many storages it stands for.
    [[nodiscard]] const std::unordered_map<std::uint32_t, std::uint64_t>& shared() const {
        return shared_;
    }
    // Adds the numbers and owners of `other`, which is the same mistake. The words stay; the
    // signature becomes the least of the two. Before storages are kept or dropped.
    void absorb(FindingBuilder&& other);

    // `storage` is shared among cycles of this finding only: together they keep it.
    void keep(std::uint32_t storage);
    // `storage` is held by another cycle of this finding, and counted there.
    void drop_shared(std::uint32_t storage);
    // The shared storages are shared with so many other findings.
    void share_with(std::uint64_t findings) { finding_.shared_with = findings; }
    // Of the `known` bytes in shared(), `mine` are attributed to this finding; of bytes that were
    // counted without being captured, the same part is.
    void attribute(std::uint64_t known, std::uint64_t mine);
    // The finding without its owners.
    [[nodiscard]] const model::Finding& so_far() const { return finding_; }

    [[nodiscard]] model::Finding finish();

  private:
    struct OwnerGroup {
        model::OwnerSummary summary;
        std::string generic_path;  // for several owners whose indices differ
        std::uint64_t way = 0;     // of the first owner
        bool several_ways = false;
    };

    void add_owner(const ReachedOwner& reached, const OwnerWalk& walk, const Weight& weight);
    void list_storages(model::OwnerSummary& summary,
                       std::uint32_t owner,
                       std::uint64_t repeats) const;
    void list_cut(const Cut& cut);
    void absorb_owners(FindingBuilder&& other);

    const CollapsedGraph& graph_;
    const Representatives& representatives_;
    const RetainedSize& held_;
    model::Finding finding_;
    std::vector<std::uint32_t> payload_edges_;
    std::size_t described_nodes_ = 0;
    std::size_t described_references_ = 0;
    std::unordered_map<std::uint64_t, std::uint32_t> group_of_;  // key -> index
    std::vector<OwnerGroup> groups_;
    std::unordered_set<std::uint64_t> omitted_groups_;
    std::unordered_map<std::uint32_t, std::uint64_t> shared_;
    std::unordered_set<std::uint32_t> shared_owners_;  // that were counted
    std::unordered_set<std::uint32_t> shared_copies_;  // shared storages, and those of copies
};

}  // namespace cyclewatch::analysis
