// SPDX-License-Identifier: Apache-2.0
#include "capture/raw_graph.h"

#include <new>

namespace cyclewatch::capture {
namespace {

struct EdgeCollector {
    const collector::PointerIndex& index;
    std::vector<std::uint32_t>& targets;
    bool out_of_memory = false;

    // Called from inside tp_traverse: an exception must not pass through its frames.
    static int visit(PyObject* target, void* context) noexcept {
        auto& self = *static_cast<EdgeCollector*>(context);
        const std::uint32_t position =
            target == nullptr ? collector::PointerIndex::kAbsent : self.index.find(target);
        if (position == collector::PointerIndex::kAbsent) {
            return 0;
        }
        try {
            self.targets.push_back(position);
            return 0;
        } catch (const std::bad_alloc&) {
            self.out_of_memory = true;
            return 1;
        }
    }
};

}  // namespace

Adjacency references_among(std::span<PyObject* const> objects,
                           const collector::PointerIndex& index) {
    Adjacency graph;
    graph.first.reserve(objects.size() + 1);
    graph.targets.reserve(objects.size() * 2);
    EdgeCollector edges{index, graph.targets};
    for (PyObject* object : objects) {
        const traverseproc traverse = Py_TYPE(object)->tp_traverse;
        if (traverse != nullptr && PyObject_IS_GC(object) != 0) {
            traverse(object, EdgeCollector::visit, &edges);
        }
        if (edges.out_of_memory) {
            throw std::bad_alloc();
        }
        graph.first.push_back(static_cast<std::uint32_t>(graph.targets.size()));
    }
    return graph;
}

Adjacency reversed(const Adjacency& graph) {
    Adjacency reverse;
    const std::size_t nodes = graph.nodes();
    reverse.first.assign(nodes + 1, 0);
    for (const std::uint32_t target : graph.targets) {
        ++reverse.first[target + 1];
    }
    for (std::size_t n = 0; n < nodes; ++n) {
        reverse.first[n + 1] += reverse.first[n];
    }
    reverse.targets.resize(graph.targets.size());
    std::vector<std::uint32_t> next(reverse.first.begin(), reverse.first.end() - 1);
    for (std::uint32_t from = 0; from < nodes; ++from) {
        for (const std::uint32_t target : graph.of(from)) {
            reverse.targets[next[target]++] = from;
        }
    }
    return reverse;
}

}  // namespace cyclewatch::capture
