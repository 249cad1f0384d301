// SPDX-License-Identifier: Apache-2.0
// Turns selected objects into nodes and their references into named edges. The edges are exactly
// those of tp_traverse: the labelers only say what each of them is called.
//
// REQUIRES: GIL held, inside CollectionListener::on_unreachable(). RUNS PYTHON: never.
#pragma once

#include <Python.h>

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "capture/edge_labeler.h"
#include "capture/raw_graph.h"
#include "capture/stored_callables.h"
#include "collector/unreachable_set.h"
#include "model/reference_graph.h"

namespace cyclewatch::capture {

inline constexpr std::uint32_t kNotNamed = collector::PointerIndex::kAbsent;

class GraphBuilder {
  public:
    // `selected`: positions in `objects`, ascending; the first `unreachable` of `objects` are the
    // unreachable set, the rest its dependents. All arguments must outlive the builder.
    GraphBuilder(std::span<PyObject* const> objects,
                 std::size_t unreachable,
                 const Adjacency& graph,
                 std::span<const std::uint32_t> selected,
                 bool values);

    [[nodiscard]] model::ReferenceGraph name_all();

    // How many references were over the limit for one collection and are not in the graph. Of more
    // than kMostOfOnePair from one object to another the rest say nothing new and do not count.
    [[nodiscard]] std::uint64_t omitted_references() const noexcept { return omitted_references_; }

    // The node that `object` became, or kNotNamed.
    [[nodiscard]] std::uint32_t node_of(PyObject* object) const noexcept {
        return index_.find(object);
    }

  private:
    struct Parts;
    struct References;
    struct Part {
        model::PartRole role = model::PartRole::none;
        PyObject* whole = nullptr;
    };

    // Where an attribute is stored, and whether that is where its value comes from, too.
    struct Site {
        model::SourceLocation location;
        bool is_of_value = false;
    };

    void add_node(std::uint32_t node);
    void limit_references();
    [[nodiscard]] model::Node describe(PyObject* object);
    // Give a callable a location; false if that is no better than its function's definition.
    bool place_bound_method(PyObject* method, model::Node& node);
    bool place_partial(PyObject* partial, model::Node& node);
    // Names a dict that locals() made after its function.
    void note_locals(std::uint32_t node);
    void add_edges(std::uint32_t node);
    // Finds out where the attribute that was just named is stored, once per class and attribute.
    void find_site(std::uint32_t from, std::uint32_t to, model::StringId attribute);
    Site add_site(std::uint32_t from, std::uint32_t to, model::StringId attribute, bool on_class);
    [[nodiscard]] std::vector<PyObject*> modules_around(std::uint32_t node) const;

    std::span<PyObject* const> objects_;
    std::size_t unreachable_;
    const Adjacency& graph_;
    std::span<const std::uint32_t> selected_;
    bool values_;
    std::vector<PyObject*> named_;            // per node
    collector::PointerIndex index_;           // of them: far fewer than `objects_`, as a rule
    std::vector<Part> parts_;                 // per node
    std::vector<std::uint32_t> unexplained_;  // per node: references to it not yet named
    std::unordered_map<PyTypeObject*, model::Node> described_;  // types that say all there is
    std::unordered_map<std::uint64_t, Site> sites_;             // by class and attribute
    std::unordered_map<PyObject*, CallableSite> partials_;      // by function
    std::vector<bool> is_placed_;                               // per node, of callables
    std::size_t most_of_one_ = SIZE_MAX;   // references of one object that are named
    std::vector<std::uint32_t> named_to_;  // per node, where there are too many: how many
    std::uint64_t omitted_references_ = 0;
    model::ReferenceGraphBuilder builder_;
};

}  // namespace cyclewatch::capture
