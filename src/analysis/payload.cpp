// SPDX-License-Identifier: Apache-2.0
#include "analysis/payload.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <variant>

#include "analysis/evidence_weights.h"
#include "analysis/names.h"
#include "analysis/roles.h"

namespace cyclewatch::analysis {
namespace {

constexpr std::size_t kMostPayloads = 2;
constexpr std::size_t kFarthestDescent = 32;  // functions inside functions inside functions

struct Payload {
    EdgeIx edge{};
    std::uint64_t bytes = 0;
};

// True for a reference to code (a class, function, frame ...) or to a wrapper of code. Users do not
// regard code as data, so the reference from the code to the data is suggested instead.
bool leads_to_code(const CollapsedGraph& graph, EdgeIx edge) {
    const NodeIx target = graph.targets[edge];
    switch (graph.node(target).kind) {
        case model::NodeKind::type:
        case model::NodeKind::property:
        case model::NodeKind::frame:
        case model::NodeKind::function:
        case model::NodeKind::traceback:
            return true;
        default:
            return false;
    }
}

// Finds the references whose removal frees memory. references_of() is called for each node of the
// cycle.
class PayloadSearch {
  public:
    PayloadSearch(const CollapsedGraph& graph, const RetainedSize& held)
        : graph_(graph), held_(held) {}

    // Largest first.
    std::vector<Payload> references_of(NodeIx node, std::size_t descent = kFarthestDescent) {
        std::vector<Payload> found;
        for (const EdgeIx e : graph_.edges_of(node)) {
            const std::uint64_t bytes = held_.kept_through(node, graph_.targets[e]);
            if (bytes > 0) {
                add(found, e, bytes, descent);
            }
        }
        std::ranges::stable_sort(found, std::greater{}, &Payload::bytes);
        return found;
    }

  private:
    // Adds `edge`. If the target of `edge` is code, and a reference from the target frees at least
    // half as much memory as `edge`, adds the references from the target instead.
    void add(std::vector<Payload>& found, EdgeIx edge, std::uint64_t bytes, std::size_t descent) {
        const NodeIx target = graph_.targets[edge];
        if (descent > 0 && leads_to_code(graph_, edge) && seen_.insert(target).second) {
            std::vector<Payload> further = references_of(target, descent - 1);
            if (!further.empty() && further.front().bytes >= bytes - bytes / 2) {
                std::ranges::move(further, std::back_inserter(found));
                return;
            }
        }
        // Never suggest dropping the layers of a model.
        if (held_.has_one_way(target) && !graph_.edges[edge].structural &&
            !graph_.is_child_of_module(edge)) {
            found.push_back({edge, bytes});
        }
    }

    const CollapsedGraph& graph_;
    const RetainedSize& held_;
    std::unordered_set<NodeIx> seen_;  // nodes descended into
};

// Finds the references to the owners of the memory that a component retains. If the component
// retains no memory, finds the references to all owners that are reachable from it.
class LastReferences {
  public:
    LastReferences(const Component& component, const RetainedSize& held)
        : graph_(component.graph),
          held_(held),
          own_(component.index),
          reached_(component.nodes.begin(), component.nodes.end()) {}

    [[nodiscard]] bool is_kept_alone() const { return held_.held_by(own_) > 0; }

    // Each item is one reference, or all references that go through one variable. Empty if there
    // are more than kMostInSet items, if a program cannot drop all of them, or if `work_left` is
    // too small.
    std::vector<std::vector<EdgeIx>> run(std::uint64_t& work_left) {
        if (!follow(work_left)) {
            return {};
        }
        std::map<std::variant<EdgeIx, model::NodeId>, std::vector<EdgeIx>> items;  // or variable
        for (const NodeIx node : reached_) {
            if (!owns_wanted(node)) {
                continue;
            }
            if (held_.component_of(node) == own_) {
                return {};  // the owner is on a cycle: cutting other references does not free it
            }
            for (const EdgeIx e : references_out_of_containers(node)) {
                if (graph_.edges[e].structural || graph_.is_child_of_module(e)) {
                    return {};
                }
                const model::NodeId cell = graph_.edges[e].cell;
                (cell == kNone ? items[e] : items[cell]).push_back(e);
            }
            if (items.size() > kMostInSet) {
                return {};
            }
        }
        std::vector<std::vector<EdgeIx>> result;
        for (auto& [key, edges] : items) {
            const model::NodeId cell = graph_.edges[edges.front()].cell;
            result.push_back(cell == kNone ? std::vector{edges.front()}
                                           : through_variable(cell, work_left));
        }
        return result;
    }

  private:
    // Lists the nodes that are reachable from the component and lead to memory.
    bool follow(std::uint64_t& work_left) {
        std::unordered_set<NodeIx> seen(reached_.begin(), reached_.end());
        for (std::size_t i = 0; i < reached_.size(); ++i) {
            const NodeIx node = reached_[i];
            if (enters_another_cycle(node)) {
                continue;
            }
            const std::uint64_t work = 1 + graph_.edges_of(node).size();
            if (work > work_left) {
                return false;
            }
            work_left -= work;
            for (const EdgeIx e : graph_.edges_of(node)) {
                const NodeIx target = graph_.targets[e];
                if (held_.leads_to_released(target)) {
                    references_to_[target].push_back(e);
                    if (seen.insert(target).second) {
                        reached_.push_back(target);
                    }
                }
            }
        }
        return true;
    }

    // All references that go through one variable, including references from functions that cannot
    // be reached from the component.
    [[nodiscard]] std::vector<EdgeIx> through_variable(model::NodeId cell,
                                                       std::uint64_t& work_left) const {
        std::vector<EdgeIx> edges;
        work_left -= std::min<std::uint64_t>(work_left, graph_.edges.size());
        for (const EdgeIx e : graph_.all_edges()) {
            if (graph_.edges[e].cell == cell) {
                edges.push_back(e);
            }
        }
        return edges;
    }

    // True if `node` is on another cycle, and a reference that a program can remove leads to `node`
    // from outside that cycle. The memory that is reachable from `node` then belongs to the finding
    // of that cycle.
    [[nodiscard]] bool enters_another_cycle(NodeIx node) const {
        const auto enters = [&](EdgeIx e) {
            const ComponentIx from = held_.component_of(graph_.edges[e].holder);
            return from != held_.component_of(node) && !graph_.edges[e].structural;
        };
        const auto references = references_to_.find(node);
        return held_.has_cycle(node) && held_.component_of(node) != own_ &&
               references != references_to_.end() &&
               std::ranges::any_of(references->second, enters);
    }

    [[nodiscard]] bool owns_wanted(NodeIx node) const {
        if (enters_another_cycle(node)) {
            return !is_kept_alone();
        }
        return std::ranges::any_of(held_.owners_of(node), [this](OwnerId owner) {
            return held_.is_released(owner) &&
                   (!is_kept_alone() || held_.keeper_of(held_.storage_of(owner)) == own_);
        });
    }

    // The references to `node`. Each reference from a container is replaced by the references to
    // that container, unless one of those is structural.
    [[nodiscard]] std::vector<EdgeIx> references_out_of_containers(NodeIx node) {
        std::vector<EdgeIx> references = references_to_[node];
        for (int steps = 0; steps < Roles::kDeepestContainer; ++steps) {
            std::vector<EdgeIx> outer;
            for (const EdgeIx e : references) {
                const NodeIx holder = graph_.edges[e].holder;
                const std::vector<EdgeIx>& keepers = references_to_[holder];
                const bool has_structural = std::ranges::any_of(
                    keepers, [this](EdgeIx keeper) { return graph_.edges[keeper].structural; });
                if (is_container(graph_, holder) && !keepers.empty() && !has_structural) {
                    outer.insert(outer.end(), keepers.begin(), keepers.end());
                } else {
                    outer.push_back(e);
                }
            }
            references = std::move(outer);
        }
        return references;
    }

    const CollapsedGraph& graph_;
    const RetainedSize& held_;
    ComponentIx own_;
    std::vector<NodeIx> reached_;
    std::unordered_map<NodeIx, std::vector<EdgeIx>> references_to_;
};

Candidate payload_candidate(const CollapsedGraph& graph,
                            std::vector<EdgeIx> edges,
                            double share,
                            bool of_class) {
    Candidate candidate;
    candidate.edges = std::move(edges);
    candidate.evidence = &payload_evidence_of(graph, candidate.edges.front(), of_class);
    candidate.score = candidate.evidence->weight;
    note_variable(candidate, graph, candidate.edges.front(), candidate.edges.size());
    candidate.payload = true;
    candidate.share = share;
    return candidate;
}

}  // namespace

Payloads find_payloads(const Component& component, const Cycle& cycle, const RetainedSize& held) {
    const CollapsedGraph& graph = component.graph;
    Payloads payloads;
    payloads.of_class = std::ranges::any_of(cycle, [&](InnerEdgeIx e) {
        return graph.is(component.holder_node(e), model::NodeKind::type);
    });
    PayloadSearch search(graph, held);
    std::vector<Payload> largest;  // of each node of the cycle
    for (const InnerEdgeIx e : cycle) {
        std::vector<Payload> found = search.references_of(component.holder_node(e));
        if (!found.empty()) {
            largest.push_back(found.front());
        }
    }
    const std::uint64_t total = held.held_by(component.index);
    std::erase_if(largest, [total](const Payload& p) { return p.bytes < total - total / 2; });
    std::ranges::stable_sort(largest, std::greater{}, &Payload::bytes);
    largest.resize(std::min(largest.size(), kMostPayloads));
    for (const Payload& payload : largest) {
        const double share = static_cast<double>(payload.bytes) / static_cast<double>(total);
        payloads.single.push_back(
            payload_candidate(graph, {payload.edge}, share, payloads.of_class));
    }
    return payloads;
}

std::vector<Candidate> find_last_references(const Component& component,
                                            const RetainedSize& held,
                                            bool of_class,
                                            std::uint64_t& work_left) {
    const CollapsedGraph& graph = component.graph;
    LastReferences search(component, held);
    std::vector<std::vector<EdgeIx>> items = search.run(work_left);
    const auto text = [&](EdgeIx edge) {
        return full_name(graph, graph.edges[edge].holder) + " " + label_of(graph, edge);
    };
    for (std::vector<EdgeIx>& edges : items) {
        std::ranges::stable_sort(edges, {}, text);
    }
    // References that source code creates are listed before copies that Python creates, such as the
    // fields of a dataclass.
    std::ranges::stable_sort(items, {}, [&](const std::vector<EdgeIx>& edges) {
        return std::tuple(is_container(graph, graph.edges[edges.front()].holder),
                          graph.label_name(edges.front()).starts_with('_'),
                          text(edges.front()));
    });
    std::vector<Candidate> candidates;
    candidates.reserve(items.size());
    const double share = search.is_kept_alone() ? 1.0 / static_cast<double>(items.size()) : 0;
    for (std::vector<EdgeIx>& edges : items) {
        candidates.push_back(payload_candidate(graph, std::move(edges), share, of_class));
    }
    return candidates;
}

}  // namespace cyclewatch::analysis
