// SPDX-License-Identifier: Apache-2.0
#include "analysis/structural_references.h"

#include <array>
#include <string_view>

#include "analysis/names.h"

namespace cyclewatch::analysis {
namespace {

using model::EdgeKind;
using model::NodeKind;
using model::PartRole;

constexpr std::array<std::string_view, 14> kStructuralMembers{"__class__",
                                                              "__mro__",
                                                              "__bases__",
                                                              "__base__",
                                                              "tp_cache",
                                                              "tp_subclasses",
                                                              "ht_module",
                                                              "__objclass__",
                                                              "__builtins__",
                                                              "__module__",
                                                              "__type_params__",
                                                              "d_type",
                                                              "f_back",
                                                              "__thisclass__"};

// Entries of every class's namespace, written by the interpreter.
constexpr std::array<std::string_view, 5> kTypeEntries{
    "__dict__", "__weakref__", "__mro__", "__module__", "__classdictcell__"};

// By their names: `make.<locals>.Plugin.apply` of `make.<locals>.Plugin`; or generated for a
// dataclass.
bool is_method_of(const model::ReferenceGraph& graph,
                  const model::Node& function,
                  const model::Node& type) {
    const std::string_view method = graph.text(function.name);
    const std::string_view of = graph.text(type.name);
    if (function.kind != NodeKind::function) {
        return false;
    }
    const bool named = method.starts_with(of) && method.substr(of.size()).starts_with('.');
    return named || method.find("__create_fn__.<locals>.") != std::string_view::npos;
}

}  // namespace

bool is_structural(const model::ReferenceGraph& graph,
                   const model::Node& holder,
                   const model::EdgeLabel& label,
                   const model::Node& target) {
    const std::string_view name = graph.text(label.name);
    switch (label.kind) {
        case EdgeKind::member:
            if (name == "__globals__") {
                // A namespace that belongs to no module is somebody's dict: exec() made it.
                return target.kind == NodeKind::module || target.role == PartRole::module_dict;
            }
            if (name == "__dict__") {
                return holder.kind == NodeKind::type || holder.kind == NodeKind::module;
            }
            return contains(kStructuralMembers, name);
        case EdgeKind::attribute:
            return holder.kind == NodeKind::type && contains(kTypeEntries, name);
        case EdgeKind::key_value:
            // The way from a namespace to itself that annotations need from 3.14 on.
            return name == "__classdictcell__";
        case EdgeKind::closure:
            if (name == "__classdict__") {
                return true;  // as above
            }
            // What super() without arguments needs, or a method that names its own class, made on
            // each call like the method: the class holds the method anyway.
            return target.kind == NodeKind::type &&
                   (name == "__class__" || is_method_of(graph, holder, target));
        default:
            return false;
    }
}

}  // namespace cyclewatch::analysis
