// SPDX-License-Identifier: Apache-2.0
// The raw reference graph of one observation: every object that lies on a way from an unreachable
// cycle to an owner, and every reference between two of them. Plain data: no addresses.
#pragma once

#include <span>
#include <vector>

#include "model/edge_label.h"
#include "model/ids.h"
#include "model/string_table.h"

namespace cyclewatch::model {

// What an object is, as far as the analysis cares.
enum class NodeKind : std::uint8_t {
    object,  // an instance, or anything with no kind of its own
    dict,
    list,
    tuple,
    set,
    cell,
    function,
    builtin_function,
    bound_method,
    partial,
    frame,
    generator,
    coroutine,
    async_generator,
    traceback,
    exception,
    type,
    module,
    weakref,
    code,
    property,  // property, staticmethod, classmethod and other descriptors
};

// True for the three kinds that keep the variables of suspended code.
constexpr bool is_suspended(NodeKind kind) {
    return kind == NodeKind::generator || kind == NodeKind::coroutine ||
           kind == NodeKind::async_generator;
}

// A container that a person does not think of as an object of its own. References out of a
// node with a part role already carry the label that its whole goes by: `.attr` out of an
// instance_dict, `closure:name` out of a closure, `args[0]` out of partial_args, and so on.
enum class PartRole : std::uint8_t {
    none,
    instance_dict,  // __dict__ of an instance, function or exception
    type_dict,
    module_dict,
    closure,  // a function's tuple of cells
    defaults,
    keyword_defaults,
    partial_args,
    partial_keywords,
    nn_children,  // nn.Module._parameters, _buffers, _modules: references out of it are `.name`
    nn_hooks,     // nn.Module._forward_hooks and the like: references out of it are `forward hook`
    storage,      // the inner part of a C container (OrderedDict's dict ...)
};

struct SourceLocation {
    StringId path = kEmptyString;  // kEmptyString: not known
    std::uint32_t line = 0;        // 1-based; 0: not known
};

struct Node {
    NodeKind kind = NodeKind::object;
    PartRole role = PartRole::none;
    bool unreachable = true;         // false: outside the unreachable set, but dies with it
    StringId name = kEmptyString;    // "module.QualName" of the type; of the code for functions,
                                     // frames and generators ("pkg.mod.Engine.__init__.<lambda>")
    StringId module = kEmptyString;  // the module part of `name`, "" if not known
    SourceLocation location;         // function: its def; frame, traceback, generator: current
                                     // line; type and instance: the class, where it can be told
    SourceLocation allocated;        // where the object itself was, if that was recorded
    // A dict that locals() made: its keys are the variables of a function, `name` and `location`
    // are that function's. What keeps such a dict keeps every variable of the call.
    bool locals_snapshot = false;
    // Of an object: the method by which its users say that they are done with it ("close"), and
    // where that is; empty if its class has none.
    StringId end_method = kEmptyString;
    SourceLocation end_location;
};

struct Edge {
    NodeId target{};
    EdgeLabel label;
};

// Where the value of an attribute came from, by the code that stores it. Who makes the other
// object is the whole, as a rule, and what it made is the part.
enum class ValueOrigin : std::uint8_t {
    unknown,
    made,          // the holder's own code made it: its class was called, or a call was given the
                   // holder
    taken,         // it was there before: a parameter, a global, an attribute of something else,
                   // what a call of anything else gave
    gives_itself,  // a method of the value's own class stores it: `child.parent = self`
};

// Where instances of a class, or the class itself, get an attribute or slot.
struct AttributeSite {
    StringId holder = kEmptyString;  // name of the class, as its nodes carry it
    StringId attribute = kEmptyString;
    bool on_class = false;  // the class itself holds it
    ValueOrigin value = ValueOrigin::unknown;
    bool holder_made_by_target = false;  // methods of the target's class create the holder
    SourceLocation location;
};

// Adjacency in compressed rows: the edges of node n are edges[first_edge[n] .. first_edge[n+1]).
struct ReferenceGraph {
    std::vector<Node> nodes;
    std::vector<std::uint32_t> first_edge{0};  // size nodes.size() + 1
    std::vector<Edge> edges;
    std::vector<AttributeSite> attribute_sites;  // those that are known, one per attribute
    StringTable strings;

    [[nodiscard]] std::span<const Edge> edges_of(NodeId node) const {
        const std::size_t n = index_of(node);
        return std::span(edges).subspan(first_edge[n], first_edge[n + 1] - first_edge[n]);
    }
    [[nodiscard]] const Node& node(NodeId id) const { return nodes[index_of(id)]; }
    [[nodiscard]] std::string_view text(StringId id) const { return strings.view(id); }
};

// Builds a ReferenceGraph. Nodes may be added at any time; the edges of one node must be added
// together, nodes in ascending order (the rows are written as they come).
class ReferenceGraphBuilder {
  public:
    NodeId add_node(const Node& node);
    // REQUIRES: `from` >= the `from` of every earlier call.
    void add_edge(NodeId from, NodeId to, EdgeLabel label);
    void add_attribute_site(const AttributeSite& site) { graph_.attribute_sites.push_back(site); }
    [[nodiscard]] std::string_view text(StringId id) const { return graph_.text(id); }
    StringId intern(std::string_view text) { return graph_.strings.intern(text); }
    Node& node(NodeId id) { return graph_.nodes[index_of(id)]; }
    // Closes the last row and hands the graph over; the builder is empty afterwards.
    ReferenceGraph finish();

  private:
    ReferenceGraph graph_;
};

}  // namespace cyclewatch::model
