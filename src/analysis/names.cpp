// SPDX-License-Identifier: Apache-2.0
#include "analysis/names.h"

#include <array>
#include <string_view>

#include "base/text.h"

namespace cyclewatch::analysis {
namespace {

using model::EdgeKind;
using model::NodeKind;

constexpr std::size_t kLongestTitle = 8;  // steps
constexpr std::string_view kLocals = "locals()";

std::string_view name_of(const CollapsedGraph& graph, NodeIx node) {
    const std::string_view name = graph.raw->text(graph.node(node).name);
    return name.empty() ? "?" : name;
}

// The node whose name reports show for `node`: the function of a bound method.
NodeIx named_node(const CollapsedGraph& graph, NodeIx node) {
    if (graph.is(node, NodeKind::bound_method)) {
        for (const EdgeIx e : graph.edges_of(node)) {
            if (graph.edges[e].label.kind == EdgeKind::member &&
                graph.label_name(e) == "__func__") {
                return graph.targets[e];
            }
        }
    }
    return node;
}

bool is_known(const model::SourceLocation& location) {
    return location.path != model::kEmptyString;
}

// The line that defines a method is unrelated to the line that creates a bound method.
model::SourceLocation source_of_node(const CollapsedGraph& graph, NodeIx node) {
    const model::SourceLocation& location = graph.node(node).location;
    const bool is_unknown = graph.is(node, NodeKind::bound_method) && location.line == 0;
    return is_unknown ? model::SourceLocation() : location;
}

model::SourceLocation source_of(const CollapsedGraph& graph, EdgeIx edge) {
    if (const model::AttributeSite* site = site_of(graph, edge);
        site != nullptr && is_known(site->location)) {
        return site->location;
    }
    if (graph.edges[edge].label.kind == EdgeKind::hook) {
        // The code to change is neither the class of the torch.nn.Module nor, if the hook is a
        // callable object, the beginning of its class.
        const NodeIx hook = graph.targets[edge];
        if (calls_user_function(graph, hook)) {
            return graph.node(hook).captured_function;
        }
        return graph.is(hook, NodeKind::object) ? model::SourceLocation()
                                                : source_of_node(graph, hook);
    }
    const NodeIx holder = graph.edges[edge].holder;
    // For a callable that is stored on an object, return the line that defines the callable.
    if (is_attribute(graph, edge) && !is_callable(graph, holder) &&
        is_callable(graph, graph.targets[edge]) &&
        is_known(source_of_node(graph, graph.targets[edge]))) {
        return source_of_node(graph, graph.targets[edge]);
    }
    // The location of an object's class is not used for an attribute, because any code may store
    // the attribute.
    const bool in_class = !is_attribute(graph, edge) || !graph.is(holder, NodeKind::object);
    const model::SourceLocation location = source_of_node(graph, holder);
    return in_class && is_known(location) ? location : graph.node(holder).allocated;
}

model::SourceLocation source_of(const CollapsedGraph& graph, EdgeIx edge, EdgeIx keeper) {
    const model::SourceLocation location = source_of(graph, edge);
    // A function that captures a container usually does not create the container's items.
    const bool use_keeper =
        !is_known(location) && keeper != kNone &&
        graph.edges[keeper].label.kind != EdgeKind::closure &&
        origin_of(graph, graph.edges[keeper].holder) != Origin::standard_library;
    return use_keeper ? source_of(graph, keeper) : location;
}

// The shortest name of an attribute that refers to `node`; "" if there is none.
std::string attribute_of(const CollapsedGraph& graph, NodeIx node) {
    std::string name;
    for (const EdgeIx e : graph.all_edges()) {
        if (graph.targets[e] == node && is_attribute(graph, e) && graph.edges[e].holder != node) {
            const std::string found = dotted(graph, e);
            if (name.empty() || std::pair(found.size(), std::string_view(found)) <
                                    std::pair(name.size(), std::string_view(name))) {
                name = found;
            }
        }
    }
    return name;
}

// Packages and modules of the standard library. Used only if the file that contains the code is
// unknown.
constexpr std::array<std::string_view, 26> kStandardLibrary{
    "abc",         "asyncio",     "collections", "concurrent",
    "contextlib",  "contextvars", "copy",        "ctypes",
    "dataclasses", "enum",        "functools",   "importlib",
    "inspect",     "itertools",   "logging",     "multiprocessing",
    "pathlib",     "queue",       "threading",   "traceback",
    "types",       "typing",      "unittest",    "warnings",
    "weakref",     "xml"};

}  // namespace

std::string place_of(const CollapsedGraph& graph, const model::SourceLocation& location) {
    if (location.path == model::kEmptyString) {
        return {};
    }
    std::string text(graph.raw->text(location.path));
    return location.line == 0 ? text : text + ":" + std::to_string(location.line);
}

bool is_method_of_class(const CollapsedGraph& graph, NodeIx node) {
    const std::size_t module = graph.raw->text(graph.node(node).module).size();
    return graph.is(node, NodeKind::bound_method) &&
           graph.raw->text(graph.node(node).name).find('.', module + 1) != std::string_view::npos;
}

bool calls_user_function(const CollapsedGraph& graph, NodeIx node) {
    return is_known(graph.node(node).captured_function);
}

bool is_attribute(const CollapsedGraph& graph, EdgeIx edge) {
    const EdgeKind kind = graph.edges[edge].label.kind;
    return kind == EdgeKind::attribute || kind == EdgeKind::slot;
}

bool is_callable(const CollapsedGraph& graph, NodeIx node) {
    return graph.is(node, NodeKind::function) || graph.is(node, NodeKind::bound_method) ||
           graph.is(node, NodeKind::partial) || graph.is(node, NodeKind::builtin_function);
}

bool is_container(const CollapsedGraph& graph, NodeIx node) {
    switch (graph.node(node).kind) {
        case NodeKind::dict:
        case NodeKind::list:
        case NodeKind::tuple:
        case NodeKind::set:
        case NodeKind::cell:
            return true;
        default:
            return false;
    }
}

std::string full_name(const CollapsedGraph& graph, NodeIx node) {
    const NodeIx named = named_node(graph, node);
    const NodeKind kind = graph.node(node).kind;
    const std::string_view name = name_of(graph, named);
    if (kind == NodeKind::bound_method && name == "method") {
        return "bound method";  // its function is alive and not in the graph
    }
    if (graph.node(node).locals_snapshot) {
        return std::string(kLocals).append(" of ").append(name);
    }
    return std::string(kind_prefix(kind)).append(name);
}

std::string short_name(const CollapsedGraph& graph, NodeIx node) {
    if (graph.node(node).locals_snapshot) {
        return std::string(kLocals);
    }
    return std::string(base::last_part(name_of(graph, named_node(graph, node))));
}

std::string label_of(const CollapsedGraph& graph, EdgeIx edge) {
    const model::EdgeLabel& label = graph.edges[edge].label;
    return model::label_text(label.kind, graph.raw->text(label.name), label.index);
}

std::string label_of_many(const CollapsedGraph& graph, EdgeIx edge) {
    const model::EdgeLabel& label = graph.edges[edge].label;
    return model::label_text_of_many(label.kind, graph.raw->text(label.name), label.index);
}

std::string generic_label_of(const CollapsedGraph& graph, EdgeIx edge) {
    const model::EdgeLabel& label = graph.edges[edge].label;
    return model::generic_label_text(label.kind, graph.raw->text(label.name), label.index);
}

std::string dotted(const CollapsedGraph& graph, EdgeIx edge) {
    const std::string label = label_of(graph, edge);
    const bool joined = label.front() == '.' || label.front() == '[';
    return short_name(graph, graph.edges[edge].holder) + (joined ? "" : ".") + label;
}

std::string step_text(const CollapsedGraph& graph, EdgeIx edge) {
    return is_container(graph, graph.edges[edge].holder) ? label_of(graph, edge)
                                                         : dotted(graph, edge);
}

std::string cycle_text(const CollapsedGraph& graph, std::span<const EdgeIx> cycle) {
    const std::size_t head = cycle.size() > kLongestTitle ? kLongestTitle / 2 + 1 : cycle.size();
    const std::size_t tail = cycle.size() > kLongestTitle ? kLongestTitle / 2 - 1 : 0;
    std::string text = dotted(graph, cycle.front()) + " -> ";
    for (std::size_t i = 1; i < cycle.size(); ++i) {
        if (i >= head && i < cycle.size() - tail) {
            text += "... -> ";
            i = cycle.size() - tail - 1;
            continue;
        }
        text += step_text(graph, cycle[i]) + " -> ";
    }
    return text + short_name(graph, graph.edges[cycle.front()].holder);
}

std::string stored_in(const CollapsedGraph& graph, NodeIx node) {
    const bool is_method = graph.is(node, NodeKind::bound_method);
    std::string text;
    if (!is_method && !is_container(graph, node)) {
        return text;
    }
    for (const EdgeIx e : graph.all_edges()) {
        if (graph.targets[e] != node) {
            continue;
        }
        const std::string place = is_attribute(graph, e) ? dotted(graph, e)
                                  : is_method            ? stored_in(graph, graph.edges[e].holder)
                                                         : "";
        if (!place.empty() && (text.empty() || place < text)) {
            text = place;
        }
    }
    return text;
}

std::string path_text(const CollapsedGraph& graph, std::span<const EdgeIx> path) {
    if (path.empty()) {
        return {};
    }
    std::string text = graph.is(graph.edges[path.front()].holder, NodeKind::builtin_function)
                           ? stored_in(graph, graph.targets[path.front()])
                           : dotted(graph, path.front());
    for (std::size_t i = 1; i < path.size(); ++i) {
        text += label_of(graph, path[i]);
    }
    return text;
}

std::string name_by_attribute(const CollapsedGraph& graph, NodeIx node) {
    std::string name = attribute_of(graph, node);
    for (const EdgeIx e : graph.edges_of(node)) {
        if (name.empty() && graph.label_name(e) == "variable") {
            name = attribute_of(graph, graph.targets[e]);
        }
    }
    if (!name.empty()) {
        return name;
    }
    for (const EdgeIx e : graph.all_edges()) {
        if (graph.targets[e] == node && graph.label_name(e) == "grad_fn") {
            name = attribute_of(graph, graph.edges[e].holder);
        }
    }
    return name;
}

std::string location_of_node(const CollapsedGraph& graph, NodeIx node) {
    return place_of(graph, source_of_node(graph, node));
}

std::string location_of_code(const CollapsedGraph& graph, NodeIx node) {
    return calls_user_function(graph, node) ? place_of(graph, graph.node(node).captured_function)
                                            : location_of_node(graph, node);
}

const model::AttributeSite* site_of(const CollapsedGraph& graph, EdgeIx edge) {
    const model::EdgeLabel& label = graph.edges[edge].label;
    if (!is_attribute(graph, edge)) {
        return nullptr;
    }
    const NodeIx holder = graph.edges[edge].holder;
    for (const model::AttributeSite& site : graph.raw->attribute_sites) {
        if (site.holder == graph.node(holder).name && site.attribute == label.name &&
            site.on_class == graph.is(holder, NodeKind::type)) {
            return &site;
        }
    }
    return nullptr;
}

std::string_view plain_name(std::string_view name) {
    const std::size_t start = std::min(name.find_first_not_of('_'), name.size());
    const std::size_t mangled = name.find("__", start);
    const bool is_mangled =
        start == 1 && mangled != std::string_view::npos && mangled + 2 < name.size();
    return name.substr(is_mangled ? mangled + 2 : start);
}

std::string location_of(const CollapsedGraph& graph, EdgeIx edge, EdgeIx keeper) {
    return place_of(graph, source_of(graph, edge, keeper));
}

std::string allocation_of(const CollapsedGraph& graph, const model::DeviceOwner& owner) {
    return owner.is_part ? std::string() : place_of(graph, graph.raw->node(owner.node).allocated);
}

model::Reference reference_of(const CollapsedGraph& graph, EdgeIx edge, EdgeIx keeper) {
    model::Reference reference;
    const model::SourceLocation location = source_of(graph, edge, keeper);
    reference.holder = full_name(graph, graph.edges[edge].holder);
    reference.label = label_of(graph, edge);
    reference.target = full_name(graph, graph.targets[edge]);
    reference.location = place_of(graph, location);
    reference.columns = location.columns;
    if (const model::AttributeSite* site = site_of(graph, edge); site != nullptr) {
        reference.base_class = graph.raw->text(site->base);
        reference.is_generated = site->is_generated && !reference.location.empty();
    }
    for (const model::EdgeId id : graph.steps_of(edge)) {
        const model::Edge& step = graph.raw->edges[id];
        reference.raw_path.push_back(
            model::label_text(step.label.kind, graph.raw->text(step.label.name), step.label.index));
    }
    return reference;
}

Origin origin_of(const CollapsedGraph& graph, NodeIx node) {
    const model::Node& described = graph.node(node);
    const std::string_view path = graph.raw->text(described.location.path);
    if (!path.empty()) {
        return base::origin_of_path(path);
    }
    const std::string_view module = graph.raw->text(described.module);
    // The C implementation of a module has the same name with a leading underscore: _asyncio.
    const std::string_view full = module.substr(module.starts_with('_') ? 1 : 0);
    const std::string_view top = full.substr(0, full.find('.'));
    return contains(kStandardLibrary, top) ? Origin::standard_library : Origin::user;
}

std::optional<Origin> origin_of_location(const CollapsedGraph& graph, EdgeIx edge, EdgeIx keeper) {
    const std::string location = location_of(graph, edge, keeper);
    return location.empty() ? std::nullopt
                            : std::optional(base::origin_of_path(base::path_of_location(location)));
}

bool may_be_users(const CollapsedGraph& graph, NodeIx node) {
    return is_container(graph, node) || origin_of(graph, node) == Origin::user;
}

}  // namespace cyclewatch::analysis
