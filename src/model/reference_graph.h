// SPDX-License-Identifier: Apache-2.0
// The raw reference graph of one observation. It contains every object on a path from an
// unreachable cycle to a memory owner, and every reference between two of these objects. Plain data
// without addresses.
#pragma once

#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/edge_label.h"
#include "model/ids.h"

namespace cyclewatch::model {

// Interns strings, so that nodes and edges can store four-byte ids. Not thread-safe.
class StringTable {
  public:
    StringTable() { intern({}); }
    StringTable(const StringTable&) = delete;
    StringTable& operator=(const StringTable&) = delete;
    StringTable(StringTable&&) = default;
    StringTable& operator=(StringTable&&) = default;

    // Returns the id of `text`; equal strings have equal ids. May throw std::bad_alloc.
    StringId intern(std::string_view text);

    // REQUIRES: `id` came from this table. The view is valid as long as the table exists.
    [[nodiscard]] std::string_view view(StringId id) const { return texts_[index_of(id)]; }

    [[nodiscard]] std::size_t size() const noexcept { return texts_.size(); }

  private:
    std::deque<std::string> texts_;  // a deque keeps the keys of ids_ valid
    std::unordered_map<std::string_view, StringId> ids_;
};

// The kinds of objects that the analysis distinguishes.
enum class NodeKind : std::uint8_t {
    object,  // an instance, or any type not listed
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

// The prefix that reports put before the name of an object of this kind, such as "function " or
// "frame of "; "" for instances.
[[nodiscard]] std::string_view kind_prefix(NodeKind kind);

// True for objects that hold the local variables of suspended code.
constexpr bool is_suspended(NodeKind kind) {
    return kind == NodeKind::generator || kind == NodeKind::coroutine ||
           kind == NodeKind::async_generator;
}

// Containers that a programmer regards as part of another object. References from such a container
// are labelled as references from the object that it belongs to: `.attr` for an instance_dict,
// `closure:name` for a closure, `args[0]` for partial_args, and so on.
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
    nn_children,  // nn.Module._parameters, _buffers, _modules; label: `.name`
    nn_hooks,     // hooks of an nn.Module, a tensor or an autograd node; label: `forward hook`
    storage,      // internal storage of a C container, such as the dict of an OrderedDict
};

struct SourceLocation {
    StringId path = kEmptyString;  // kEmptyString: unknown
    std::uint32_t line = 0;        // 1-based; 0: unknown
    ColumnRange columns{};         // from 0, in bytes of UTF-8
};

struct Node {
    NodeKind kind = NodeKind::object;
    PartRole role = PartRole::none;
    bool unreachable = true;         // false: not in the unreachable set, but freed with it
    StringId name = kEmptyString;    // "module.QualName" of the type; of the code for functions,
                                     // frames and generators ("pkg.mod.Engine.__init__.<lambda>")
    StringId module = kEmptyString;  // the module part of `name`, "" if unknown
    SourceLocation location;         // function: its def; frame, traceback, generator: current
                                     // line; type and instance: the class, if known; bound method,
                                     // partial: the code that creates it. The line of a bound
                                     // method is 0 if only the file of its function is known.
    SourceLocation allocated;        // where the object was allocated, if recorded
    // True for a dict returned by locals(). It contains every local variable of a function call.
    // `name` and `location` then describe the function that called locals().
    bool locals_snapshot = false;
    bool supports_weakref = true;     // its type allows weak references to it
    bool lacks_weakref_slot = false;  // its type would, if __slots__ contained "__weakref__"
    bool hides_references = false;    // the collector does not see all references of the object
    // A function of a library, on a cycle hidden from the collector: the function of the program
    // that it captures, for which the library has made it. A callable object of the program, on
    // such a cycle: its method `__call__`. Unknown for all others.
    SourceLocation captured_function;
    // The full name of the function that a function of a library captures; not of a `__call__`.
    StringId captured_name = kEmptyString;
    // The method that releases the object's resources ("close"), and its location. Empty if the
    // class has no such method.
    StringId end_method = kEmptyString;
    SourceLocation end_location;
};

struct Edge {
    NodeId target{};
    EdgeLabel label;
};

// The origin of an attribute's value, according to the code that stores the value. An object is
// usually the parent of the objects that it creates.
enum class ValueOrigin : std::uint8_t {
    unknown,
    made,          // created where it is stored: by a call to its own class, or by a call that
                   // receives the holder as an argument
    taken,         // existed before: a parameter, a global, an attribute of another object, or the
                   // result of any other call
    gives_itself,  // stored by a method of the value's class: `child.parent = self`. For a
                   // container: each item is stored this way, as in `model.observers.add(self)`
};

// The code that sets an attribute or slot of a class or of its instances.
struct AttributeSite {
    StringId holder = kEmptyString;  // Node::name of the class
    StringId attribute = kEmptyString;
    bool on_class = false;  // attribute of the class itself
    ValueOrigin value = ValueOrigin::unknown;
    bool holder_made_by_target = false;  // methods of the target's class create the holder
    SourceLocation location{};
    StringId base = kEmptyString;  // base class whose method contains `location`
    bool is_generated = false;     // stored by generated code; `location` is the class
    bool intercepted = false;      // the class overrides __getattribute__()
    bool in_dict = false;  // stored in `__dict__`, so the setter of a property is not called
};

// Compressed sparse rows. The edges of node n are edges[first_edge[n] .. first_edge[n+1]).
struct ReferenceGraph {
    IndexedVector<NodeId, Node> nodes;
    IndexedVector<NodeId, EdgeId> first_edge{EdgeId{0}};  // size nodes.size() + 1
    IndexedVector<EdgeId, Edge> edges;
    std::vector<AttributeSite> attribute_sites;  // at most one per attribute
    StringTable strings;

    [[nodiscard]] IndexRange<EdgeId> edge_ids_of(NodeId node) const {
        return {first_edge[node], first_edge[base::next_index(node)]};
    }
    [[nodiscard]] std::span<const Edge> edges_of(NodeId node) const {
        return std::span(edges).subspan(index_of(first_edge[node]), edge_ids_of(node).size());
    }
    [[nodiscard]] const Node& node(NodeId id) const { return nodes[id]; }
    [[nodiscard]] std::string_view text(StringId id) const { return strings.view(id); }
};

// Builds a ReferenceGraph. Nodes may be added at any time; edges must be added in ascending order
// of their source node.
class ReferenceGraphBuilder {
  public:
    NodeId add_node(const Node& node);
    // REQUIRES: `from` >= the `from` of every earlier call.
    void add_edge(NodeId from, NodeId to, EdgeLabel label);
    void add_attribute_site(const AttributeSite& site) { graph_.attribute_sites.push_back(site); }
    [[nodiscard]] std::string_view text(StringId id) const { return graph_.text(id); }
    StringId intern(std::string_view text) { return graph_.strings.intern(text); }
    Node& node(NodeId id) { return graph_.nodes[id]; }
    // Returns the graph; the builder is empty afterwards.
    ReferenceGraph finish();

  private:
    ReferenceGraph graph_;
};

}  // namespace cyclewatch::model
