// SPDX-License-Identifier: Apache-2.0
// Lists the references that torch stores in tensors and autograd nodes, where the collector does
// not see them: the graph, saved tensors and their hooks, the hooks of nodes, gradients and bases.
#pragma once

#include <Python.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "collector/unreachable_set.h"
#include "device/readers/torch_functions.h"
#include "device/readers/torch_graph.h"
#include "device/torch_layout.h"

namespace cyclewatch::device {

// REQUIRES (everything here): GIL held, __torch_function__ disabled, automatic collection paused.
// RUNS PYTHON: no user code; hooks for saved tensors are not called. torch creates a Python object
// for each node; the object lives as long as the node. May leave a Python error set. May throw
// std::bad_alloc.
class TorchHidden {
  public:
    // The arguments must outlive this object.
    TorchHidden(const torch_api::TorchFunctions& torch,
                const TorchLayout& layout,
                collector::HiddenReferences& hidden)
        : torch_(torch), layout_(layout), hidden_(hidden) {}

    // Adds the references of the tensors and nodes among `objects`, and of all tensors and nodes to
    // which their references lead. Examines at most `layout.most_nodes` of them.
    // Adds nothing while another thread runs a backward pass, which frees saved tensors and hooks
    // without the GIL.
    void add(std::span<PyObject* const> objects);

  private:
    [[nodiscard]] bool is_tensor(PyObject* object) const noexcept {
        return PyType_IsSubtype(Py_TYPE(object), torch_.tensor_base) != 0;
    }
    [[nodiscard]] std::uintptr_t address_of(PyObject* node) const noexcept;
    void enqueue(PyObject* object);
    void add_tensor(PyObject* tensor);
    void add_stale_node(PyObject* tensor);
    [[nodiscard]] bool may_read_gradient(PyObject* tensor) const noexcept;
    // Requires that the layout has `node_in_tensor`. 0 if the tensor has no autograd data.
    [[nodiscard]] std::uintptr_t autograd_data_of(PyObject* tensor) const noexcept;
    void add_node(PyObject* node);
    void add_saved(PyObject* holder,
                   const std::string& name,
                   PyObject* saved,
                   model::EdgeKind kind,
                   std::uint32_t index);
    void enqueue_standalone_saved(std::span<PyObject* const> objects);
    void add_hooks(PyObject* node, std::uintptr_t address);
    void add_addressed_nodes();
    void add_unwrapped_node(PyObject* owner, std::uintptr_t address, const std::string& name);
    [[nodiscard]] PyObject* tensor_at(std::uintptr_t address);
    void add_count(PyObject* object);
    // The result is valid until the next call.
    collector::HiddenReference& refer(PyObject* holder,
                                      PyObject* target,
                                      std::string name,
                                      model::EdgeKind kind = model::EdgeKind::member,
                                      std::uint32_t index = 0);

    const torch_api::TorchFunctions& torch_;
    const TorchLayout& layout_;
    collector::HiddenReferences& hidden_;
    NodeTypes types_;
    std::unordered_set<PyObject*> seen_;
    std::vector<PyObject*> pending_;
    std::unordered_map<std::uintptr_t, PyObject*> nodes_;  // by address of the C++ object
    // A reference to a node of which only the address is known.
    struct AddressedNode {
        PyObject* holder;
        std::uintptr_t address;
        std::string name;
        bool is_only_holder = false;  // if nobody else refers to the node, it need not be wrapped
    };
    std::vector<AddressedNode> addressed_nodes_;
    std::unordered_set<std::uintptr_t> unwrapped_;           // nodes without a Python object
    std::unordered_map<std::uintptr_t, PyObject*> tensors_;  // by address; filled by tensor_at()
};

}  // namespace cyclewatch::device
