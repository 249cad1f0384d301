// SPDX-License-Identifier: Apache-2.0
#include "analysis/finding_builder.h"

#include <algorithm>
#include <tuple>

#include "analysis/advice_text.h"
#include "analysis/cut.h"
#include "analysis/names.h"
#include "analysis/picture.h"
#include "model/cycle_gap.h"
#include "model/mistake.h"

namespace cyclewatch::analysis {
namespace {

// Maximum number of owner groups to track; the largest kMaxOwnersPerFinding groups are reported.
constexpr std::size_t kMostGroups = 4 * model::kMaxOwnersPerFinding;
// Maximum number of entries in Finding::cycle.
constexpr std::size_t kMostCycleReferences = 200;
// Maximum number of references to list for one shared variable.
constexpr std::size_t kMostOfVariable = 8;
// Maximum number of different back references to list for one parent.
constexpr std::size_t kMostBackReferences = 200;

bool same_text(const model::Reference& a, const model::Reference& b) {
    return a.holder == b.holder && a.label == b.label && a.target == b.target &&
           a.location == b.location;
}

bool have_same_classes(const CollapsedGraph& graph, EdgeIx edge, EdgeIx other) {
    const auto same = [&graph](NodeIx node, NodeIx other_node) {
        const model::Node& a = graph.node(node);
        const model::Node& b = graph.node(other_node);
        return a.kind == b.kind && a.name == b.name;
    };
    return same(graph.edges[edge].holder, graph.edges[other].holder) &&
           same(graph.targets[edge], graph.targets[other]);
}

// Appends reference number `first` of `candidate`. If the references of `candidate` share a
// variable, appends all of them. Omits duplicates.
void append_references(std::vector<model::Reference>& list,
                       const CollapsedGraph& graph,
                       const Candidate& candidate,
                       const Cut& cut,
                       std::size_t first = 0) {
    std::vector<model::Reference> references;
    const std::size_t shown =
        candidate.shared_cell ? std::min(candidate.edges.size(), kMostOfVariable) : first + 1;
    for (std::size_t i = first; i < shown; ++i) {
        model::Reference reference =
            reference_of(graph, candidate.edges[i], i == 0 ? candidate.keeper : kNone);
        reference.reason = reason_of(graph, candidate, i, cut);
        reference.payload = candidate.payload;
        if (cut.parent != kNone) {
            reference.references =
                static_cast<std::uint64_t>(std::ranges::count_if(candidate.edges, [&](EdgeIx edge) {
                    return have_same_classes(graph, edge, candidate.edges[i]);
                }));
        }
        if (i == 0) {
            reference.holder_path = path_text(graph, candidate.path);
            for (auto at = candidate.path.rbegin();
                 reference.location.empty() && at != candidate.path.rend();
                 ++at) {
                reference.location = location_of(graph, candidate.edges[0], *at);
            }
        }
        const NodeIx holder = graph.edges[candidate.edges[i]].holder;
        if (graph.is(holder, model::NodeKind::builtin_function)) {
            reference.holder_path = stored_in(graph, graph.targets[candidate.edges[i]]);
        } else if (cut.cut.size() > 1 && graph.is(holder, model::NodeKind::bound_method)) {
            reference.holder_path = stored_in(graph, holder);
        }
        references.push_back(std::move(reference));
    }
    std::sort(references.begin() + 1, references.end(), [](const auto& a, const auto& b) {
        return std::tie(a.holder, a.label) < std::tie(b.holder, b.label);
    });
    for (model::Reference& reference : references) {
        if (std::ranges::none_of(list,
                                 [&](const auto& other) { return same_text(other, reference); })) {
            list.push_back(std::move(reference));
        }
    }
}

// In a long cycle, one entry stands for the references in the middle; see model/cycle_gap.h.
std::vector<model::Reference> cycle_references(const CollapsedGraph& graph,
                                               std::span<const EdgeIx> cycle) {
    std::vector<model::Reference> references;
    const std::size_t left_out =
        cycle.size() > kMostCycleReferences ? cycle.size() - kMostCycleReferences + 1 : 0;
    for (std::size_t i = 0; i < cycle.size(); ++i) {
        references.push_back(reference_of(graph, cycle[i]));
        if (left_out > 0 && i + 1 == kMostCycleReferences / 2) {
            i += left_out;
            model::Reference gap;
            gap.holder = references.back().target;
            gap.label = model::gap_label(left_out);
            gap.target = full_name(graph, graph.targets[cycle[i]]);
            references.push_back(std::move(gap));
        }
    }
    return references;
}

// The cycle shown in the headline. If the back references to one parent must be cut, this cycle
// contains the first of them, even if `cycle` does not.
std::string title_of(const CollapsedGraph& graph,
                     const Component& component,
                     const Cut& cut,
                     std::span<const EdgeIx> cycle) {
    if (cut.parent == kNone ||
        std::ranges::find(cycle, cut.cut.front().edges.front()) != cycle.end()) {
        return cycle_text(graph, cycle);
    }
    const auto first = std::ranges::find(component.edges, cut.cut.front().edges.front());
    std::vector<EdgeIx> edges = collapsed_edges(
        component, shortest_cycle_through(component, component.edges.index_at(first)));
    std::rotate(edges.begin(), edges.begin() + 1, edges.end());  // starts at the parent
    return cycle_text(graph, edges);
}

std::uint64_t all_bytes(const model::OwnerSummary& owner) {
    return owner.bytes * owner.count;
}

}  // namespace

FindingBuilder::FindingBuilder(const CollapsedGraph& graph,
                               const model::Observation& observation,
                               const RetainedSize& retained)
    : graph_(graph), observation_(observation), retained_(retained) {}

void FindingBuilder::describe(const Component& component,
                              std::uint64_t& work_left,
                              const Cycle& cycle,
                              std::span<const EdgeIx> cycle_edges,
                              std::string signature,
                              std::uint64_t retained_bytes,
                              const OwnerWalk& walk) {
    finding_.signature = std::move(signature);
    finding_.largest_bytes = retained_bytes;
    finding_.cycle = cycle_references(graph_, cycle_edges);
    Cut cut = choose_cut(graph_, component, cycle, retained_, work_left);
    finding_.title = title_of(graph_, component, cut, cycle_edges);
    list_cut(cut);
    cut.tie = finding_.tie;
    described_nodes_ = component.nodes.size();
    described_references_ = component.targets.size();
    finding_.advice = advice_of(graph_, cut);
    finding_.cost = cost_of(graph_, cut);
    finding_.remedy = remedy_of(graph_, cut);
    std::vector<EdgeIx> cut_edges;
    for (const Candidate& candidate : cut.cut) {
        cut_edges.insert(cut_edges.end(), candidate.edges.begin(), candidate.edges.end());
    }
    finding_.picture = make_picture(graph_, observation_, cycle_edges, cut_edges, walk);
}

void FindingBuilder::list_cut(const Cut& cut) {
    const Evidence& evidence = cut.cut.empty() ? *cut.without_cut : *cut.cut.front().evidence;
    finding_.pattern = std::string(evidence.pattern);
    finding_.freed_share = cut.freed_share;
    // List the first reference of each candidate, then the second of each candidate, and so on.
    // A candidate lists one reference for each pair of holder and target classes.
    std::size_t most_listed = 1;
    for (std::size_t i = 0; i < most_listed; ++i) {
        for (const Candidate& candidate : cut.cut) {
            most_listed = std::max(most_listed, candidate.listed);
            if (i < candidate.listed &&
                (cut.parent == kNone || finding_.cut.size() < kMostBackReferences)) {
                append_references(finding_.cut, graph_, candidate, cut, i);
            } else if (i < candidate.listed) {
                ++finding_.omitted_cuts;
            }
        }
    }
    const Cut none;  // reason_of(): these are alternatives
    for (const Candidate& candidate : cut.alternatives) {
        append_references(finding_.alternatives, graph_, candidate, none);
    }
    const bool tie_dropped = drop_repeated_alternatives();
    finding_.tie = cut.tie && !tie_dropped;
}

// Drops alternatives that would look the same in a report as the cut. Two references can look the
// same because an item of a container may be shown as the attribute that refers to the container.
// Drops nothing if the cut consists of several references, because cutting only one of them is a
// different suggestion. Returns whether the first alternative was dropped.
bool FindingBuilder::drop_repeated_alternatives() {
    const auto is_repeated = [this](const model::Reference& other) {
        const model::Reference& cut = finding_.cut.front();
        return !cut.location.empty() && cut.location == other.location &&
               cut.label == other.label && cut.holder == other.holder;
    };
    if (finding_.cut.size() != 1 || finding_.alternatives.empty()) {
        return false;
    }
    const bool first = is_repeated(finding_.alternatives.front());
    std::erase_if(finding_.alternatives, is_repeated);
    return first;
}

void FindingBuilder::compare(const Component& component) {
    if (is_cut_of_cycle() && (component.nodes.size() != described_nodes_ ||
                              component.targets.size() != described_references_)) {
        finding_.freed_share = 0;
    }
}

void FindingBuilder::count(ComponentIx component,
                           std::uint64_t retained_bytes,
                           bool walked,
                           const OwnerWalk& walk,
                           const Weight& weight) {
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
        const bool is_shared = retained_.keeper_of(id) != component;
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
