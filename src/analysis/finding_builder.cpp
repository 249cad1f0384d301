// SPDX-License-Identifier: Apache-2.0
#include "analysis/finding_builder.h"

#include <algorithm>
#include <tuple>

#include "analysis/cut.h"
#include "analysis/names.h"
#include "analysis/picture.h"
#include "analysis/remedy.h"
#include "model/loop_gap.h"

namespace cyclewatch::analysis {
namespace {

// Groups of owners that are described at all; the heaviest kMaxOwnersPerFinding are shown.
constexpr std::size_t kMostGroups = 4 * model::kMaxOwnersPerFinding;
// Entries of Finding::loop.
constexpr std::size_t kMostLoopReferences = 200;
// References of one shared variable, or to one object, that are spelled out.
constexpr std::size_t kMostSpelledOut = 8;

bool same_text(const model::Reference& a, const model::Reference& b) {
    return a.holder == b.holder && a.label == b.label && a.target == b.target &&
           a.location == b.location;
}

// A candidate as references, each text once; of references that share a variable, or lead to
// one object, all are said.
void append_references(std::vector<model::Reference>& list,
                       const LogicalGraph& graph,
                       const Candidate& candidate,
                       std::size_t set_size) {
    std::vector<model::Reference> references;
    const bool spelled_out = candidate.shared_cell || candidate.one_target;
    const std::size_t shown = spelled_out ? std::min(candidate.edges.size(), kMostSpelledOut) : 1;
    for (std::size_t i = 0; i < shown; ++i) {
        model::Reference reference = reference_of(graph, candidate.edges[i]);
        reference.reason = reason_of(graph, candidate, i, set_size);
        reference.payload = candidate.payload;
        if (i == 0) {
            reference.location = location_of(graph, candidate.edges[0], candidate.keeper);
        }
        references.push_back(std::move(reference));
    }
    std::sort(references.begin() + 1, references.end(), [](const auto& a, const auto& b) {
        return std::tie(a.holder, a.label) < std::tie(b.holder, b.label);
    });
    for (model::Reference& reference : references) {
        const bool said = std::any_of(list.begin(), list.end(), [&](const auto& other) {
            return same_text(other, reference);
        });
        if (!said) {
            list.push_back(std::move(reference));
        }
    }
}

// The loop's references. Of a loop longer than anyone reads, one entry stands for the middle.
std::vector<model::Reference> loop_references(const LogicalGraph& graph,
                                              std::span<const std::uint32_t> loop) {
    std::vector<model::Reference> references;
    const std::size_t left_out =
        loop.size() > kMostLoopReferences ? loop.size() - kMostLoopReferences + 1 : 0;
    for (std::size_t i = 0; i < loop.size(); ++i) {
        references.push_back(reference_of(graph, loop[i]));
        if (left_out > 0 && i + 1 == kMostLoopReferences / 2) {
            i += left_out;
            model::Reference gap;
            gap.holder = references.back().target;
            gap.label = model::gap_label(left_out);
            gap.target = full_name(graph, graph.targets[loop[i]]);
            references.push_back(std::move(gap));
        }
    }
    return references;
}

std::uint64_t all_bytes(const model::OwnerSummary& owner) {
    return owner.bytes * owner.count;
}

}  // namespace

FindingBuilder::FindingBuilder(const LogicalGraph& graph,
                               const Sample& sample,
                               const HeldBytes& held)
    : graph_(graph), sample_(sample), held_(held) {}

void FindingBuilder::describe(const Component& component,
                              MemoryCutter& cutter,
                              const Loop& loop,
                              std::span<const std::uint32_t> loop_edges,
                              std::string signature,
                              std::uint64_t held_bytes,
                              const OwnerWalk& walk) {
    finding_.signature = std::move(signature);
    finding_.title = loop_text(graph_, loop_edges);
    finding_.largest_bytes = held_bytes;
    finding_.loop = loop_references(graph_, loop_edges);
    const Cut cut = choose_cut(graph_, component, loop, held_, cutter);
    list_cut(cut);
    described_nodes_ = component.nodes.size();
    described_references_ = component.targets.size();
    finding_.advice = advice_of(graph_, cut);
    finding_.remedy = remedy_of(graph_, cut);
    std::vector<std::uint32_t> cut_edges;
    for (const Candidate& candidate : cut.cut) {
        cut_edges.insert(cut_edges.end(), candidate.edges.begin(), candidate.edges.end());
    }
    finding_.picture = make_picture(graph_, sample_, loop_edges, cut_edges, walk);
    if (cut.of_class && !cut.cut.empty() && cut.cut.front().payload) {
        std::ranges::sort(cut_edges);
        payload_edges_ = std::move(cut_edges);
    }
}

void FindingBuilder::take_words(FindingBuilder&& other) {
    other.finding_.occurrences = finding_.occurrences;
    other.finding_.held_bytes = finding_.held_bytes;
    other.finding_.shared_bytes = finding_.shared_bytes;
    finding_ = std::move(other.finding_);
}

void FindingBuilder::list_cut(const Cut& cut) {
    const Evidence& evidence = cut.cut.empty() ? *cut.without_cut : *cut.cut.front().evidence;
    finding_.pattern = std::string(evidence.pattern);
    finding_.freed_share = cut.freed_share;
    for (const Candidate& candidate : cut.cut) {
        append_references(finding_.cut, graph_, candidate, cut.cut.size());
    }
    for (const Candidate& candidate : cut.alternatives) {
        append_references(finding_.alternatives, graph_, candidate, 1);
    }
    finding_.tie = cut.tie;
}

void FindingBuilder::compare(const Component& component) {
    if (is_cut_of_loop() && (component.nodes.size() != described_nodes_ ||
                             component.targets.size() != described_references_)) {
        finding_.freed_share = 0;
    }
}

void FindingBuilder::count(std::uint32_t component,
                           std::uint64_t held_bytes,
                           bool walked,
                           const OwnerWalk& walk,
                           const Weight& weight) {
    finding_.occurrences += weight.copies + weight.repeats;
    finding_.held_bytes += held_bytes * weight.copies + weight.further_held;
    finding_.largest_bytes = std::max(finding_.largest_bytes, held_bytes);
    if (!walked) {
        return;
    }
    if (!weight.repeats_equal && walk.bytes() > held_bytes) {
        finding_.shared_bytes += (walk.bytes() - held_bytes) * weight.repeats;
    }
    const std::uint64_t factor = weight.equal();
    for (const ReachedOwner& reached : walk.owners()) {
        const model::StorageId id = sample_.owners[reached.owner].storage;
        const model::Storage& storage = sample_.storages[index_of(id)];
        const auto index = static_cast<std::uint32_t>(index_of(id));
        // Once for the finding, however many of its loops lead there.
        const bool is_shared = held_.keeper_of(id) != component;
        if (storage.released && is_shared && shared_.emplace(index, factor).second) {
            finding_.shared_bytes += storage.bytes * factor;
        }
        if (!is_shared || shared_owners_.insert(reached.owner).second) {
            add_owner(reached, walk, weight);
        }
    }
}

void FindingBuilder::keep(std::uint32_t storage) {
    const std::uint64_t bytes = sample_.storages[storage].bytes * shared_.at(storage);
    finding_.held_bytes += bytes;
    finding_.shared_bytes -= bytes;
}

void FindingBuilder::add_owner(const ReachedOwner& reached,
                               const OwnerWalk& walk,
                               const Weight& weight) {
    const std::uint64_t factor = weight.equal();
    const std::uint64_t repeats = factor - weight.copies;
    if (const auto known = group_of_.find(reached.group); known != group_of_.end()) {
        OwnerGroup& group = groups_[known->second];
        group.summary.count += factor;
        list_storages(group.summary, reached.owner, repeats);
        group.several_ways = group.several_ways || group.way != reached.way;
        return;
    }
    if (groups_.size() >= kMostGroups) {
        omitted_groups_.insert(reached.group);
        return;
    }
    const model::DeviceOwner& owner = sample_.owners[reached.owner];
    const model::Storage& storage = sample_.storages[index_of(owner.storage)];
    OwnerGroup group;
    group.summary.type = owner.type;
    group.summary.device = storage.device;
    group.summary.bytes = storage.bytes;
    group.summary.shape = owner.shape;
    group.summary.dtype = owner.dtype;
    group.summary.allocated_at = allocation_of(graph_, owner);
    group.summary.count = factor;
    list_storages(group.summary, reached.owner, repeats);
    group.summary.path = walk.path_text(walk.node_of(reached), false);
    group.generic_path = walk.path_text(walk.node_of(reached), true);
    group.way = reached.way;
    group_of_.emplace(reached.group, static_cast<std::uint32_t>(groups_.size()));
    groups_.push_back(std::move(group));
}

// Those that were not captured count as over its own storage.
void FindingBuilder::list_storages(model::OwnerSummary& summary,
                                   std::uint32_t owner,
                                   std::uint64_t repeats) const {
    summary.storages.push_back({sample_.owners[owner].storage, 1 + repeats});
    for (const model::StorageId copied : sample_.copied_storages[owner]) {
        summary.storages.push_back({copied, 1});
    }
}

model::Finding FindingBuilder::finish() {
    for (OwnerGroup& group : groups_) {
        if (group.several_ways) {
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

}  // namespace cyclewatch::analysis
