// SPDX-License-Identifier: Apache-2.0
// Finds the objects that the autograd graph of a tensor keeps alive: parameters, saved tensors, and
// the contexts of autograd functions written in Python. The graph consists of C++ nodes. The
// references between nodes are invisible to the collector.
#pragma once

#include <Python.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "device/owner_reader.h"
#include "python/references.h"

namespace cyclewatch::device {

// The getters of the type of an autograd node. Only getters of C types, because they run no user
// code.
struct NodeGetters {
    PyObject* next = nullptr;      // next_functions; null: not a type of nodes
    PyObject* variable = nullptr;  // of AccumulateGrad
    std::vector<PyObject*> saved;  // _raw_saved_*
};

// Caches the getters by type. Valid as long as no type is freed.
class NodeTypes {
  public:
    // May throw std::bad_alloc.
    const NodeGetters& of(PyTypeObject* type);

  private:
    std::unordered_map<PyTypeObject*, NodeGetters> known_;
};

// The value of a getter; null if `getter` is null or raises, as for values that were freed.
[[nodiscard]] python::OwnedRef read(PyObject* getter, PyObject* object);

// Reads each node once. REQUIRES (everything here): GIL held, __torch_function__ disabled. RUNS
// PYTHON: no user code; hooks for saved tensors are not called. torch creates a Python object for
// each node; the object lives as long as the node. May leave a Python error set. May throw
// std::bad_alloc.
class TorchGraph {
  public:
    // Appends references from the tensor `holder` to the objects that the graph of `grad_fn` keeps
    // alive. Has no effect if the graph of an earlier tensor includes `grad_fn` and keeps `holder`
    // alive. Callers should therefore pass the result of an operation before the inputs of the
    // operation. Visits at most kMaxSteps nodes in total, some several times.
    void add(PyObject* holder, python::OwnedRef grad_fn, std::vector<OwnerReference>& references);

    // Grows with each operation of a thread; -1 if unknown.
    [[nodiscard]] static std::int64_t sequence_number(PyObject* node);

    // Appends `node`, the nodes that it leads to, and what these keep alive, except for nodes that
    // were visited before. Returns the number of nodes visited. `like`: the other members of the
    // targets.
    std::size_t add_targets(python::OwnedRef node,
                            const GraphTarget& like,
                            std::vector<GraphTarget>& targets);

    // The tensor that a torch._C._autograd.SavedTensor contains, or the object into which a hook
    // packed the tensor; null if it is not tracked by the collector.
    [[nodiscard]] static python::OwnedRef saved_in(PyObject* saved);

    // True for objects that stand for nodes.
    [[nodiscard]] bool is_node(PyObject* object) {
        return types_.of(Py_TYPE(object)).next != nullptr;
    }

    // False in a process that has seen a graph with too many nodes (kMostNodes): add_targets() and
    // add() have no effect.
    [[nodiscard]] static bool may_read() noexcept { return !has_seen_large_graph; }

    // The nodes that were visited after the first `begin` and before `end`, and those next to them,
    // without the leaves of graphs, which unrelated graphs share.
    [[nodiscard]] std::unordered_set<PyObject*> nodes_between(std::size_t begin, std::size_t end);

    // True if one of `nodes` is `node`, or a node that it leads to. Follows at most `budget` nodes
    // that were not visited, and subtracts their number.
    [[nodiscard]] bool leads_to(PyObject* node,
                                const std::unordered_set<PyObject*>& nodes,
                                std::size_t& budget);

    // The number of different nodes visited so far.
    [[nodiscard]] std::size_t size() const noexcept { return nodes_.size(); }

    // torch frees nodes that have a Python object recursively, so that freeing a chain of 50,000 of
    // them may overflow the stack. After the first graph with more than 10,000 nodes, this process
    // reads no graphs, because each reading could lengthen such a chain.
    static constexpr std::size_t kMostNodes = 10'000;

  private:
    static constexpr std::size_t kMaxSteps = 100'000;
    static inline bool has_seen_large_graph = false;
    [[nodiscard]] bool may_go_on() noexcept {
        has_seen_large_graph = has_seen_large_graph || nodes_.size() >= kMostNodes;
        return !has_seen_large_graph && steps_ < kMaxSteps;
    }

    struct Node {
        std::vector<PyObject*> next;
        std::vector<PyObject*> targets;
        std::size_t number = 0;  // of nodes visited before
    };
    // The nodes that `object` leads to.
    std::vector<PyObject*> next_of(PyObject* object);
    const Node& node(PyObject* object);

    std::unordered_map<PyObject*, Node> nodes_;
    NodeTypes types_;
    std::vector<python::OwnedRef> held_;  // the nodes and their targets
    std::unordered_set<PyObject*> kept_;  // the targets of all graphs
    std::size_t steps_ = 0;
};

}  // namespace cyclewatch::device
