// SPDX-License-Identifier: Apache-2.0
#include "analysis/advice_code.h"

#include <string_view>

#include "advice/slots.h"
#include "analysis/evidence_weights.h"
#include "analysis/names.h"
#include "analysis/weak_targets.h"

namespace cyclewatch::analysis {
namespace {

// The code of the property that replaces a back pointer. Empty for other kinds of references, and
// for classes whose __getattribute__() the property would call again. Also empty if neither the
// code that stores the attribute nor the class has a known location, for example because the class
// is not written in Python. If the value is stored directly in `__dict__`, or may be because no
// assignment is known, the property's setter would not be called, so there is no property.
std::string code_of_back_pointer(const CollapsedGraph& graph, EdgeIx edge) {
    const model::EdgeKind kind = graph.edges[edge].label.kind;
    const bool is_slot = kind == model::EdgeKind::slot;
    const model::AttributeSite* const site = site_of(graph, edge);
    if ((!is_slot && kind != model::EdgeKind::attribute) ||
        (site != nullptr && site->intercepted) ||
        !graph.is(graph.edges[edge].holder, model::NodeKind::object) ||
        is_container(graph, graph.targets[edge]) ||
        (location_of(graph, edge).empty() &&
         location_of_node(graph, graph.edges[edge].holder).empty())) {
        return "";
    }
    const std::string name(graph.label_name(edge));
    if (location_of(graph, edge).empty() || (site != nullptr && site->in_dict)) {
        return "store `weakref.ref(value)` where the value of `" + name +
               "` is stored, and call it where `" + name + "` is used";
    }
    const std::string stored = "_" + std::string(plain_name(name)) + "_ref";
    const bool is_field = is_declared_field(graph, edge);
    const std::string slot =
        is_field ? "a field `" + stored + "` with `init=False`, and "
                 : "`" + stored + "` in `__slots__` instead of `" + name + "`, and ";
    return (is_slot ? slot : "") + "a property `" + name + "`" +
           (is_field ? ", assigned after the class body," : "") + " that returns `self." + stored +
           " and self." + stored + "()`, with the setter `self." + stored +
           " = None if value is None else weakref.ref(value)`; keep the line that sets `" + name +
           "`";
}

}  // namespace

std::string name_in_text(const CollapsedGraph& graph, NodeIx node) {
    const std::string name = short_name(graph, node);
    return advice::is_function(full_name(graph, node)) ? "`" + name + "`" : name;
}

bool is_declared_field(const CollapsedGraph& graph, EdgeIx edge) {
    const model::AttributeSite* const site = site_of(graph, edge);
    return site != nullptr && site->is_generated;
}

std::string method_of(const CollapsedGraph& graph, const Candidate& candidate) {
    const NodeIx holder = graph.edges[candidate.edges.front()].holder;
    return is_method_of_class(graph, holder) &&
                   candidate.evidence->pattern == patterns::kBoundMethod.pattern
               ? short_name(graph, holder)
               : "";
}

bool is_first_argument_of_partial(const CollapsedGraph& graph, const Candidate& candidate) {
    const model::EdgeLabel& label = graph.edges[candidate.edges.front()].label;
    return label.kind == model::EdgeKind::partial_argument && label.index == 0;
}

std::string code_of(const CollapsedGraph& graph, const Candidate& candidate) {
    const EdgeIx edge = candidate.edges.front();
    if (weak_targets_of(graph, candidate).edge != kNone) {
        return "";
    }
    std::string code;
    if (candidate.evidence->pattern == patterns::kBackPointer.pattern) {
        code = code_of_back_pointer(graph, edge);
    } else if (const std::string method = method_of(graph, candidate); !method.empty()) {
        code = std::string("`") + kCallWhileAlive + "`, with `ref = weakref.WeakMethod(self." +
               method + ")`; it returns None once the object is freed";
    } else if (is_first_argument_of_partial(graph, candidate)) {
        code = std::string("`") + kCallWithObject +
               "` instead of the partial of `function`, with `" + "ref = weakref.ref(...)` to " +
               name_in_text(graph, graph.targets[edge]);
    }
    return code.empty() ? code : " In code: " + code + ".";
}

}  // namespace cyclewatch::analysis
