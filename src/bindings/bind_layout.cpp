// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings/values.h"

namespace cyclewatch::bindings {
namespace {

device::TorchLayout::Holder holder_from(const std::vector<std::uint64_t>& words) {
    return {words.at(0), words.at(1), {words.begin() + 2, words.end()}};
}

}  // namespace

device::TorchLayout layout_from(const py::dict& found) {
    device::TorchLayout layout;
    std::set<std::string> kinds;
    if (found.contains("kinds")) {
        for (const std::string& kind : found["kinds"].cast<std::vector<std::string>>()) {
            kinds.insert(kind);
        }
    }
    if (found.contains("most_nodes")) {
        layout.most_nodes = found["most_nodes"].cast<std::size_t>();
    }
    layout.tensors = kinds.contains("tensors");
    layout.gradients = kinds.contains("gradients");
    layout.nodes = kinds.contains("nodes");
    layout.saved = kinds.contains("saved");
    layout.post_accumulate = kinds.contains("post_accumulate");
    if (layout.nodes) {
        layout.node_in_wrapper = found["node_in_wrapper"].cast<std::size_t>();
        layout.node_in_function = found["node_in_function"].cast<std::size_t>();
    }
    if (kinds.contains("stale_views")) {
        layout.node_in_tensor = found["node_in_tensor"].cast<std::pair<std::size_t, std::size_t>>();
    }
    if (kinds.contains("stored_gradients")) {
        layout.gradient_in_data =
            found["gradient_in_data"].cast<std::pair<std::size_t, std::uintptr_t>>();
    }
    if (kinds.contains("unwrapped_nodes")) {
        layout.next_nodes = found["next_nodes"].cast<std::pair<std::size_t, std::size_t>>();
        layout.accumulate_grad =
            found["accumulate_grad"].cast<std::pair<std::uintptr_t, std::size_t>>();
    }
    if (kinds.contains("copied_slices")) {
        layout.copy_slices = found["copy_slices"].cast<std::pair<std::uintptr_t, std::size_t>>();
    }
    if (layout.saved) {
        layout.saved_in_wrapper = found["saved_in_wrapper"].cast<std::size_t>();
    }
    if (kinds.contains("standalone_saved") && found.contains("standalone_saved")) {
        const auto [type, offset, word] =
            found["standalone_saved"]
                .cast<std::tuple<std::uintptr_t, std::size_t, std::uintptr_t>>();
        layout.standalone_saved = {type, offset, word};
    }
    if (kinds.contains("packed")) {
        layout.saved_nodes = found["saved_nodes"].cast<std::vector<std::size_t>>();
        layout.saved_hooks = holder_from(found["saved_hooks"].cast<std::vector<std::uint64_t>>());
    }
    if (kinds.contains("node_hooks")) {
        for (const auto& list :
             found["hook_lists"].cast<std::vector<std::vector<std::uint64_t>>>()) {
            layout.hook_lists.push_back(holder_from(list));
        }
    }
    if (kinds.contains("metadata")) {
        layout.metadata = holder_from(found["metadata"].cast<std::vector<std::uint64_t>>());
    }
    return layout;
}

std::vector<std::string> failures_in(const py::dict& layout) {
    return layout.contains("failures") ? layout["failures"].cast<std::vector<std::string>>()
                                       : std::vector<std::string>();
}

}  // namespace cyclewatch::bindings
