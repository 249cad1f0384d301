// SPDX-License-Identifier: Apache-2.0
// Turns the selected objects into nodes and their references into labelled edges. Every edge is a
// reference that tp_traverse visits; the labelers only provide labels.
//
// REQUIRES: GIL held, inside CollectionListener::on_unreachable(). RUNS PYTHON: never.
#pragma once

#include <Python.h>

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "capture/edge_labeler.h"
#include "capture/locals_snapshot.h"
#include "capture/raw_graph.h"
#include "capture/stored_callables.h"
#include "collector/unreachable_set.h"
#include "model/reference_graph.h"

namespace cyclewatch::capture {

inline constexpr std::uint32_t kNotNamed = collector::PointerIndex::kAbsent;

class GraphBuilder {
  public:
    // `selected` contains positions in `objects`, in ascending order. The first `unreachable`
    // objects are the unreachable set; the rest are its dependents, the objects that die with it.
    // All arguments must outlive the builder.
    GraphBuilder(std::span<PyObject* const> objects,
                 std::size_t unreachable,
                 const Adjacency& graph,
                 std::span<const std::uint32_t> selected,
                 bool values,
                 const collector::HiddenReferences* hidden = nullptr);

    [[nodiscard]] model::ReferenceGraph build();

    // The number of references missing from the graph because of the limit per collection. Excludes
    // references that are missing because of kMaxPerPair.
    [[nodiscard]] std::uint64_t omitted_references() const noexcept { return omitted_references_; }

    // Returns the node of `object`, or kNotNamed.
    [[nodiscard]] std::uint32_t node_of(PyObject* object) const noexcept {
        return index_.find(object);
    }

  private:
    struct Parts;
    struct References;
    struct Part {
        model::PartRole role = model::PartRole::none;
        PyObject* parent = nullptr;
    };

    // The location at which an attribute is stored, and whether the same line creates the value.
    struct Site {
        model::SourceLocation location;
        bool creates_value = false;
    };

    void add_node(std::uint32_t node);
    [[nodiscard]] bool hides_references(PyObject* object) const;
    // Sets `captured_function` and `captured_name` of a node that is a function.
    void add_captured_function(PyObject* function, model::Node& described);
    [[nodiscard]] model::SourceLocation call_method(PyObject* object);
    void add_parts(PyObject* object);
    void limit_references();
    [[nodiscard]] model::Node describe(PyObject* object);
    // The next two functions set the location of a callable. They return false if the only location
    // that they find is the definition of the underlying function.
    bool locate_bound_method(PyObject* method, model::Node& node);
    bool locate_partial(PyObject* partial, model::Node& node);
    // If `node` is a dict that locals() created, names it after the function that called locals().
    void note_locals(std::uint32_t node);
    [[nodiscard]] std::string_view kind_of_hooks(std::uint32_t node) const;
    void add_edges(std::uint32_t node);
    // Finds the location at which `attribute` is stored, searching once per class and attribute.
    void find_site(std::uint32_t from, std::uint32_t to, model::StringId attribute);
    Site add_site(std::uint32_t from, std::uint32_t to, model::StringId attribute, bool on_class);
    [[nodiscard]] bool items_put_themselves(std::uint32_t node, std::string_view attribute) const;
    [[nodiscard]] std::vector<PyObject*> modules_around(std::uint32_t node) const;

    std::span<PyObject* const> objects_;
    std::size_t unreachable_;
    const Adjacency& graph_;
    std::span<const std::uint32_t> selected_;
    bool values_;
    const collector::HiddenReferences* hidden_;  // references that the labelers do not know
    std::vector<PyObject*> named_;               // per node
    collector::PointerIndex index_;  // of `named_`, which is usually far smaller than `objects_`
    std::vector<Part> parts_;        // per node
    std::vector<std::uint32_t> unlabelled_;  // per node: references to it that have no label yet
    std::unordered_map<PyTypeObject*, model::Node> described_;  // see differs_per_object()
    std::unordered_map<std::uint64_t, Site> sites_;             // by class and attribute
    std::unordered_map<PyObject*, CallableSite> partials_;      // by code of the function
    LocalsSnapshots snapshots_;
    std::vector<bool> is_located_;           // per node, for callables
    std::size_t max_per_object_ = SIZE_MAX;  // limit of references per object
    std::vector<std::uint32_t> named_to_;    // per node: references to it; empty without a limit
    std::uint64_t omitted_references_ = 0;
    model::ReferenceGraphBuilder builder_;
};

}  // namespace cyclewatch::capture
