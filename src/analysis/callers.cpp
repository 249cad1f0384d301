// SPDX-License-Identifier: Apache-2.0
#include "analysis/callers.h"

namespace cyclewatch::analysis {
namespace {

using model::EdgeKind;
using model::NodeKind;

const CollapsedEdge& edge_at(const CycleView& cycle, std::size_t i) {
    return cycle.graph.edges[cycle.edges[i]];
}

bool is_pack_hook(const CycleView& cycle, std::size_t i) {
    const std::string_view name = cycle.graph.label_name(cycle.edges[i]);
    return edge_at(cycle, i).label.kind == EdgeKind::member &&
           (name == "pack_hook" || name == "unpack_hook");
}

bool is_captured(const CycleView& cycle, std::size_t i) {
    switch (edge_at(cycle, i).label.kind) {
        case EdgeKind::closure:
        case EdgeKind::default_value:
        case EdgeKind::partial_argument:
        case EdgeKind::partial_keyword:
            return true;
        default:
            return false;
    }
}

}  // namespace

bool only_calls_others(const CollapsedGraph& graph, NodeIx node) {
    return graph.is(node, NodeKind::partial) ||
           (graph.is(node, NodeKind::object) && origin_of(graph, node) != Origin::user);
}

bool is_called_by_others(const CycleView& cycle, std::size_t i) {
    const std::size_t k = cycle.previous(i);
    const CollapsedEdge& previous = edge_at(cycle, k);
    const EdgeKind kind = previous.label.kind;
    if (kind == EdgeKind::hook || cycle.graph.is(cycle.holder(k), NodeKind::partial)) {
        return true;
    }
    if (kind == EdgeKind::attribute && !previous.is_wrapped &&
        cycle.graph.label_name(cycle.edges[k]) != "__wrapped__") {
        return false;  // stored like a method: the code that stores it can be changed
    }
    const NodeIx caller = cycle.holder(cycle.outside_containers(k));
    return (cycle.is_object(caller) || cycle.graph.is(caller, NodeKind::function)) &&
           origin_of(cycle.graph, caller) != Origin::user;
}

bool is_registered_as_hook(const CycleView& cycle, std::size_t i) {
    std::size_t k = cycle.previous(i);
    const auto is_passed_on = [&] {
        return edge_at(cycle, k).label.kind == EdgeKind::attribute
                   ? only_calls_others(cycle.graph, cycle.holder(k))
                   : cycle.graph.is(cycle.holder(k), NodeKind::partial);
    };
    for (std::size_t steps = 0; steps < kFarthestLook && is_passed_on(); ++steps) {
        k = cycle.previous(k);
    }
    return edge_at(cycle, k).label.kind == EdgeKind::hook;
}

bool is_called_by_library(const CycleView& cycle, std::size_t i) {
    const std::size_t k = cycle.previous(i);
    if (is_registered_as_hook(cycle, i) || is_pack_hook(cycle, k)) {
        return true;
    }
    const std::optional<Origin> origin = origin_of_location(cycle.graph, cycle.edges[k]);
    if (origin && edge_at(cycle, k).label.kind == EdgeKind::attribute) {
        return *origin != Origin::user;
    }
    const NodeIx caller = cycle.holder(k);
    return cycle.graph.is(caller, NodeKind::function) &&
           origin_of(cycle.graph, caller) != Origin::user;
}

NodeIx storing_pack_hook(const CycleView& cycle, std::size_t i) {
    if (cycle.graph.collectable ||
        cycle.graph.label_name(cycle.edges[cycle.next(i)]) != "grad_fn") {
        return kNone;
    }
    std::size_t k = cycle.outside_containers(i);
    if (is_attribute(cycle.graph, cycle.edges[k])) {
        const std::size_t before = cycle.previous(k);
        const bool is_own_hook = is_pack_hook(cycle, before);  // an object with __call__()
        k = is_own_hook ? k : before;
        if (!is_own_hook && cycle.graph.label_name(cycle.edges[k]) != "__self__" &&
            !is_captured(cycle, k)) {
            return kNone;
        }
    } else if (!is_captured(cycle, k)) {
        return kNone;
    }
    const NodeIx hook = cycle.holder(k);
    const bool is_programs =
        cycle.graph.is(hook, NodeKind::partial) || origin_of(cycle.graph, hook) == Origin::user;
    return is_pack_hook(cycle, cycle.previous(k)) && is_programs ? hook : NodeIx{kNone};
}

bool stores_output_in_argument(const CycleView& cycle, std::size_t i) {
    const NodeIx container = cycle.holder(i);
    const bool is_mutable = cycle.graph.is(container, NodeKind::dict) ||
                            cycle.graph.is(container, NodeKind::list) ||
                            cycle.graph.is(container, NodeKind::set);
    if (cycle.graph.collectable || !is_mutable ||
        !is_container(cycle.graph, cycle.holder(cycle.previous(i)))) {
        return false;
    }
    std::size_t last = i;
    for (std::size_t steps = 0;
         steps < kFarthestLook && cycle.graph.is(cycle.target(last), NodeKind::tuple);
         ++steps) {
        last = cycle.next(last);
    }
    if (cycle.graph.label_name(cycle.edges[cycle.next(last)]) != "grad_fn") {
        return false;
    }
    const std::size_t outside = cycle.outside_containers(i);
    const NodeIx keeper = cycle.holder(outside);
    const std::optional<Origin> origin = origin_of_location(cycle.graph, cycle.edges[outside]);
    return !is_container(cycle.graph, keeper) &&
           origin.value_or(origin_of(cycle.graph, keeper)) != Origin::user;
}

NodeIx caller_of_user_function(const CycleView& cycle, std::size_t i) {
    const NodeIx holder = cycle.holder(i);
    if (calls_user_function(cycle.graph, holder)) {
        return holder;
    }
    for (const EdgeIx e : cycle.graph.edges_of(holder)) {
        if (calls_user_function(cycle.graph, cycle.graph.targets[e])) {
            return cycle.graph.targets[e];
        }
    }
    return kNone;
}

}  // namespace cyclewatch::analysis
