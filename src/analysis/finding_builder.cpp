// SPDX-License-Identifier: Apache-2.0
#include "analysis/finding_builder.h"

#include <algorithm>
#include <tuple>

#include "analysis/names.h"
#include "model/mistake.h"

namespace cyclewatch::analysis {
namespace {

// Maximum number of owner groups to track; the largest kMaxOwnersPerFinding groups are reported.
constexpr std::size_t kMostGroups = 4 * model::kMaxOwnersPerFinding;
std::uint64_t all_bytes(const model::OwnerSummary& owner) {
    return owner.bytes * owner.count;
}

}  // namespace

FindingBuilder::FindingBuilder(model::Finding description,
                               const Component& component,
                               const model::Observation& observation,
                               const RetainedSize& retained)
    : graph_(component.graph),
      observation_(observation),
      retained_(retained),
      finding_(std::move(description)),
      described_nodes_(component.size()),
      described_references_(component.edges.size()) {}

void FindingBuilder::describe_again(model::Finding description, const Component& component) {
    ++descriptions_;
    if (description.cut.size() <= finding_.cut.size()) {
        return;
    }
    described_nodes_ = component.size();
    described_references_ = component.edges.size();
    description.signature = std::move(finding_.signature);
    description.occurrences = finding_.occurrences;
    description.retained_bytes = finding_.retained_bytes;
    description.largest_bytes = finding_.largest_bytes;
    description.shared_bytes = finding_.shared_bytes;
    description.freed_share = 0;  // as in count(): the sizes differ
    finding_ = std::move(description);
}

void FindingBuilder::count(const Component& component,
                           bool walked,
                           const OwnerWalk& walk,
                           const Weight& weight) {
    if (is_cut_of_cycle() &&
        (component.size() != described_nodes_ || component.edges.size() != described_references_)) {
        finding_.freed_share = 0;
    }
    const std::uint64_t retained_bytes = retained_.held_by(component.index);
    finding_.occurrences += 1 + weight.repeats;
    finding_.retained_bytes += retained_bytes + weight.repeat_bytes;
    finding_.largest_bytes = std::max(finding_.largest_bytes, retained_bytes);
    if (!walked) {
        return;
    }
    if (!weight.repeats_equal && walk.bytes() > retained_bytes) {
        finding_.shared_bytes += (walk.bytes() - retained_bytes) * weight.repeats;
    }
    const std::uint64_t factor = weight.equal();
    for (const ReachedOwner& reached : walk.owners()) {
        const StorageId id = retained_.storage_of(reached.owner);
        const model::Storage& storage = observation_.storage(id);
        // A shared storage is counted once per finding.
        const bool is_shared = retained_.keeper_of(id) != component.index;
        if (storage.released && is_shared && shared_.emplace(id, factor).second) {
            finding_.shared_bytes += storage.bytes * factor;
        }
        if (is_shared) {
            shared_storages_.insert(id);
        }
        if (!is_shared || shared_owners_.insert(reached.owner).second) {
            add_owner(reached, walk, weight);
        }
    }
}

void FindingBuilder::absorb(FindingBuilder&& other) {
    const model::Finding& more = other.finding_;
    model::add_variants(finding_, more);
    finding_.signature = std::min(finding_.signature, more.signature);
    // If both values of freed_share are known, use their weighted mean.
    const auto retained = static_cast<double>(finding_.retained_bytes);
    const auto more_retained = static_cast<double>(more.retained_bytes);
    if (finding_.freed_share != more.freed_share) {
        const bool known =
            finding_.freed_share > 0 && more.freed_share > 0 && retained + more_retained > 0;
        finding_.freed_share =
            known ? (finding_.freed_share * retained + more.freed_share * more_retained) /
                        (retained + more_retained)
                  : 0;
    }
    finding_.occurrences += more.occurrences;
    finding_.retained_bytes += more.retained_bytes;
    if (more.unowned_bytes) {
        finding_.unowned_bytes = finding_.unowned_bytes.value_or(0);
    }
    finding_.shared_bytes += more.shared_bytes;
    finding_.largest_bytes = std::max(finding_.largest_bytes, more.largest_bytes);
    for (const auto& [storage, copies] : other.shared_) {
        const auto [entry, fresh] = shared_.emplace(storage, copies);
        if (!fresh) {
            finding_.shared_bytes -=
                observation_.storage(storage).bytes * std::min(entry->second, copies);
            entry->second = std::max(entry->second, copies);
        }
    }
    absorb_owners(std::move(other));
}

// Skips owners of storages that both findings share, because these owners are already listed.
void FindingBuilder::absorb_owners(FindingBuilder&& other) {
    for (OwnerGroup& group : other.groups_) {
        std::erase_if(group.summary.storages, [&](const model::StorageShare& share) {
            const bool listed = shared_storages_.contains(share.storage) &&
                                other.shared_storages_.contains(share.storage);
            group.summary.count -= listed ? std::min(share.owners, group.summary.count) : 0;
            return listed;
        });
        if (group.summary.count == 0) {
            continue;
        }
        const auto [known, fresh] = group_of_.try_emplace(group.key, groups_.size());
        if (!fresh) {
            OwnerGroup& same = groups_[known->second];
            same.summary.count += group.summary.count;
            same.summary.storages.insert(same.summary.storages.end(),
                                         group.summary.storages.begin(),
                                         group.summary.storages.end());
            same.several_paths =
                same.several_paths || group.several_paths || same.path_hash != group.path_hash;
        } else if (groups_.size() < kMostGroups) {
            groups_.push_back(std::move(group));
        } else {
            group_of_.erase(known);
            omitted_groups_.insert(group.key);
        }
    }
    omitted_groups_.merge(other.omitted_groups_);
    shared_storages_.merge(other.shared_storages_);
}

void FindingBuilder::retain_shared(StorageId storage) {
    finding_.retained_bytes += observation_.storage(storage).bytes * shared_.at(storage);
    drop_shared(storage);
}

void FindingBuilder::drop_shared(StorageId storage) {
    finding_.shared_bytes -= observation_.storage(storage).bytes * shared_.at(storage);
    shared_.erase(storage);
}

void FindingBuilder::attribute(std::uint64_t known, std::uint64_t mine) {
    const std::uint64_t rest = finding_.shared_bytes - std::min(known, finding_.shared_bytes);
    const double part = known == 0 ? 1 : static_cast<double>(mine) / static_cast<double>(known);
    finding_.attributed_bytes =
        finding_.retained_bytes + mine +
        (part == 1 ? rest : static_cast<std::uint64_t>(static_cast<double>(rest) * part));
}

void FindingBuilder::add_owner(const ReachedOwner& reached,
                               const OwnerWalk& walk,
                               const Weight& weight) {
    const std::uint64_t factor = weight.equal();
    const model::DeviceOwner& owner = observation_.owner(reached.owner);
    if (owner.has_graph && !finding_.unowned_bytes) {
        finding_.unowned_bytes = 0;  // measured later, if at all
    }
    if (const auto known = group_of_.find(reached.group); known != group_of_.end()) {
        OwnerGroup& group = groups_[known->second];
        group.summary.count += factor;
        group.summary.storages.push_back({owner.storage, factor});
        group.several_paths = group.several_paths || group.path_hash != reached.path_hash;
        return;
    }
    if (groups_.size() >= kMostGroups) {
        omitted_groups_.insert(reached.group);
        return;
    }
    const model::Storage& storage = observation_.storage_of(owner);
    OwnerGroup group;
    group.summary.type = owner.type;
    group.summary.device = storage.device;
    group.summary.bytes = storage.bytes;
    group.summary.shape = owner.shape;
    group.summary.dtype = owner.dtype;
    group.summary.allocated_at = allocation_of(graph_, owner);
    if (!owner.allocation_stack.empty()) {
        group.summary.allocation_stack = owner.allocation_stack;
    }
    group.summary.count = factor;
    group.summary.storages.push_back({owner.storage, factor});
    group.summary.path = walk.path_text(walk.node_of(reached), false);
    group.generic_path = walk.path_text(walk.node_of(reached), true);
    group.path_hash = reached.path_hash;
    group.key = reached.group;
    group_of_.emplace(group.key, groups_.size());
    groups_.push_back(std::move(group));
}

model::Finding FindingBuilder::finish() {
    for (OwnerGroup& group : groups_) {
        if (group.several_paths) {
            group.summary.path = group.generic_path;
        }
        finding_.owners.push_back(std::move(group.summary));
    }
    std::stable_sort(finding_.owners.begin(),
                     finding_.owners.end(),
                     [](const model::OwnerSummary& a, const model::OwnerSummary& b) {
                         return all_bytes(a) != all_bytes(b) ? all_bytes(a) > all_bytes(b)
                                                             : std::tie(a.path, a.allocated_at) <
                                                                   std::tie(b.path, b.allocated_at);
                     });
    finding_.omitted_owners = omitted_groups_.size();
    if (finding_.owners.size() > model::kMaxOwnersPerFinding) {
        finding_.omitted_owners += finding_.owners.size() - model::kMaxOwnersPerFinding;
        finding_.owners.resize(model::kMaxOwnersPerFinding);
    }
    return std::move(finding_);
}

std::vector<FindingIx> ranked(const Builders& builders) {
    std::vector<FindingIx> order(builders.indexes().begin(), builders.indexes().end());
    std::ranges::sort(order, model::ranks_before, [&](FindingIx b) -> const model::Finding& {
        return builders[b].finding();
    });
    return order;
}

}  // namespace cyclewatch::analysis
