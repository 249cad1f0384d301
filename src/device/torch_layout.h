// SPDX-License-Identifier: Apache-2.0
// Where torch stores references inside its C++ objects, as cyclewatch/proofs/torch_layout.py has
// found by experiment in this process. A kind of reference that is not `verified` must not be read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace cyclewatch::device {

struct TorchLayout {
    // A C++ object that owns Python objects, in memory: the offset of the pointer to it, its first
    // word, which identifies its type, and the offsets of the pointers to Python objects.
    struct Holder {
        std::size_t offset = 0;
        std::uintptr_t type = 0;
        std::vector<std::size_t> objects;
    };

    std::size_t most_nodes = 1'000'000;  // tensors and nodes to examine
    bool tensors = false;                // reference counts of tensors, and bases of views
    bool gradients = false;
    bool nodes = false;  // reference counts of nodes, and references between nodes
    // Where a tensor stores its autograd data, and where these store the address of its node.
    std::optional<std::pair<std::size_t, std::size_t>> node_in_tensor;
    // Where the autograd data of a tensor store the address of its gradient, and the word there if
    // it has none.
    std::optional<std::pair<std::size_t, std::uintptr_t>> gradient_in_data;
    // In a node: the offset of the vector of the nodes to which it refers, and the size of its
    // elements, which begin with the address of a node. Verified together with the next field.
    std::optional<std::pair<std::size_t, std::size_t>> next_nodes;
    // The first word of an AccumulateGrad node, and the offset of the address of its leaf.
    std::pair<std::uintptr_t, std::size_t> accumulate_grad;
    // The first word of a CopySlices node, and the offset of the address of the node of the
    // operation that has changed the view. Only CopySlices refers to that node. The offset is 0 if
    // unknown.
    std::pair<std::uintptr_t, std::size_t> copy_slices;
    bool saved = false;                // tensors saved for backward, without hooks
    bool post_accumulate = false;      // post-accumulate-grad hooks of a tensor
    std::size_t node_in_wrapper = 0;   // in the Python object of a C++ node
    std::size_t node_in_function = 0;  // in a torch._C._FunctionBase
    std::size_t saved_in_wrapper = 0;  // the SavedVariable of a SavedTensor
    // The Python type of saved tensors, and the word at an offset that only those objects have that
    // own their SavedVariable. The others belong to a node. The type is 0 if unknown.
    struct StandaloneSaved {
        std::uintptr_t type = 0;
        std::size_t offset = 0;
        std::uintptr_t word = 0;
    } standalone_saved;
    std::vector<std::size_t> saved_nodes;  // in a SavedVariable: nodes that it keeps alive
    std::optional<Holder> saved_hooks;  // in a SavedVariable: pack hook, unpack hook, packed object
    // In a node. The field at the offset is the begin of a vector of pointers to Holders.
    std::vector<Holder> hook_lists;  // post-hooks, pre-hooks, tensor hooks
    std::optional<Holder> metadata;  // in a node
};

}  // namespace cyclewatch::device
