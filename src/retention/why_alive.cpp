// SPDX-License-Identifier: Apache-2.0
#include "retention/why_alive.h"

#include "python/guards.h"
#include "retention/heap_graph.h"
#include "retention/path_search.h"
#include "retention/path_text.h"

namespace cyclewatch::retention {
namespace {

constexpr std::uint32_t kReferencesOfBox = 1;

}  // namespace

WhyAlive why_alive(PyObject* box, std::size_t paths, CallerVariables caller) {
    const python::ErrorStash stash;
    const python::YoungCountGuard young_count;
    PyObject* const object = PyList_GET_ITEM(box, 0);
    const HeapGraph graph(object, box);
    const std::uint32_t target = graph.node_of(object);
    WhyAlive answer;
    if (target == HeapGraph::kAbsent) {
        answer.in_cycle = true;
        return answer;
    }
    const Roots roots(graph, target, kReferencesOfBox, caller);
    const SearchResult found = find_paths(graph, roots, target, paths);
    for (const RawPath& path : found.paths) {
        answer.paths.push_back(describe(graph, roots, path));
    }
    answer.in_cycle = found.in_cycle;
    return answer;
}

}  // namespace cyclewatch::retention
