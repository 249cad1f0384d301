// SPDX-License-Identifier: Apache-2.0
#include "analysis/score_adjustment.h"

#include "analysis/evidence_weights.h"
#include "analysis/names.h"

namespace cyclewatch::analysis {
namespace {

// The origin of the code that creates the reference: the origin of the holder or, if the holder is
// a container, the origin of the object that refers to the container. If user code stores an
// attribute on a library object, the origin is user code.
Origin origin_of_code(const CycleView& cycle, std::size_t i) {
    const Origin origin = origin_of(cycle.graph, cycle.holder(cycle.outside_containers(i)));
    if (origin == Origin::user) {
        return origin;  // the usual case, without a lookup
    }
    const model::AttributeSite* site = site_of(cycle.graph, cycle.edges[i]);
    const auto path = site == nullptr ? "" : cycle.graph.raw->text(site->location.path);
    const bool own = !path.empty() && base::origin_of_path(path) == Origin::user;
    return own ? Origin::user : origin;
}

bool program_stores_another(const CycleView& cycle, std::size_t i) {
    return !cycle.all_others(i, [&](std::size_t k) {
        return !is_attribute(cycle.graph, cycle.edges[k]) ||
               origin_of(cycle.graph, cycle.holder(k)) != Origin::user;
    });
}

// True if a library's function captures what the program has passed to the library, on a cycle that
// is hidden from the collector: a function of the program is on the cycle, too.
bool is_captured_for_program(const CycleView& cycle, std::size_t i) {
    const CollapsedEdge& edge = cycle.graph.edges[cycle.edges[i]];
    return !cycle.graph.collectable && edge.label.kind == model::EdgeKind::closure &&
           (calls_user_function(cycle.graph, edge.holder) ||
            !cycle.all_others(i, [&](std::size_t k) {
                const NodeIx holder = cycle.holder(k);
                return !is_callable(cycle.graph, holder) ||
                       origin_of(cycle.graph, holder) != Origin::user;
            }));
}

}  // namespace

int adjustment_of(const CycleView& cycle, std::size_t i) {
    const Origin origin = origin_of_code(cycle, i);
    if (origin == Origin::standard_library) {
        return patterns::kInStandardLibrary;
    }
    if (origin == Origin::library && is_captured_for_program(cycle, i)) {
        return patterns::kCapturedForProgram;
    }
    return origin == Origin::library && program_stores_another(cycle, i) ? patterns::kInLibrary : 0;
}

}  // namespace cyclewatch::analysis
