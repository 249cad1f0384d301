// SPDX-License-Identifier: Apache-2.0
// Finds the objects that the autograd graph of a tensor keeps alive: parameters, saved tensors, and
// the contexts of autograd functions written in Python. The graph consists of C++ nodes. The
// references between nodes are invisible to the collector.
#pragma once

#include <Python.h>

#include <cstddef>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "device/owner_reader.h"
#include "python/references.h"

namespace cyclewatch::device {

// Reads each node once. REQUIRES (everything here): GIL held, __torch_function__ disabled. RUNS
// PYTHON: no user code; hooks for saved tensors are not called. torch creates a Python object for
// each node; the object lives as long as the node. May leave a Python error set. May throw
// std::bad_alloc.
class TorchGraph {
  public:
    // Appends references from the tensor `holder` to the objects that the graph of `grad_fn` keeps
    // alive. Has no effect if the graph of an earlier tensor includes `grad_fn` and keeps `holder`
    // alive. Callers should therefore pass the result of an operation before the inputs of the
    // operation. Visits at most kMaxSteps nodes in total.
    void add(PyObject* holder, python::OwnedRef grad_fn, std::vector<OwnerReference>& references);

    // The number of different nodes visited so far.
    [[nodiscard]] std::size_t size() const noexcept { return nodes_.size(); }

  private:
    static constexpr std::size_t kMaxSteps = 1'000'000;

    struct Node {
        std::vector<PyObject*> next;
        std::vector<PyObject*> targets;
    };
    struct Getters {
        PyObject* next = nullptr;      // next_functions
        PyObject* variable = nullptr;  // of AccumulateGrad
        std::vector<PyObject*> saved;  // _raw_saved_*
    };
    const Node& node(PyObject* object);
    const Getters& getters(PyTypeObject* type);
    void add_saved(PyObject* saved, Node& node);

    std::unordered_map<PyObject*, Node> nodes_;
    std::unordered_map<PyTypeObject*, Getters> getters_;
    std::vector<python::OwnedRef> held_;  // the nodes
    std::unordered_set<PyObject*> kept_;  // the targets of all graphs
    std::size_t steps_ = 0;
};

}  // namespace cyclewatch::device
