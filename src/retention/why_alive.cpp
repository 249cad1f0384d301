// SPDX-License-Identifier: Apache-2.0
#include "retention/why_alive.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

#include "capture/labelers/text.h"
#include "capture/labelers/visit.h"
#include "collector/never_freed.h"
#include "compat/features.h"
#include "compat/gc_list.h"
#include "python/guards.h"
#include "retention/parts.h"

namespace cyclewatch::retention {
namespace {

// True if the running collection is about to free the object. On builds with a GIL, the tracked
// objects do not include objects that are about to be freed.
bool is_about_to_be_freed(PyObject* object) {
    if constexpr (CYCLEWATCH_HAS_NO_GIL) {
        return PyObject_IS_GC(object) != 0 && cw_is_unreachable(object) != 0;
    }
    return false;
}

// REQUIRES: no path leads to the target, so only the objects from which it can be reached refer to
// them.
bool is_never_freed(const HeapGraph& graph, std::uint32_t target) {
    if (graph.hidden().empty()) {
        return false;
    }
    std::vector<bool> seen(graph.size(), false);
    std::vector<std::uint32_t> nodes{target};
    seen[target] = true;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        for (const std::uint32_t holder : graph.holders(nodes[i])) {
            if (!seen[holder]) {
                seen[holder] = true;
                nodes.push_back(holder);
            }
        }
    }
    std::vector<PyObject*> objects;
    objects.reserve(nodes.size());
    for (const std::uint32_t node : nodes) {
        objects.push_back(graph.object(node));
    }
    const std::vector<PyObject*> remaining = collector::never_freed_among(objects, graph.hidden());
    return std::ranges::find(remaining, graph.object(target)) != remaining.end();
}

WhyAlive search(collector::TrackedObjects& objects,
                PyObject* box,
                std::size_t paths,
                CallerVariables caller,
                bool untracked,
                std::span<const OwnerReference> library,
                collector::HiddenReferences hidden) {
    PyObject* const object = PyList_GET_ITEM(box, 0);
    const std::span<PyObject* const> targets(&object, untracked ? 1 : 0);
    const HeapGraph graph(objects, object, box, targets, library, std::move(hidden));
    const std::uint32_t target = graph.node_of(object);
    WhyAlive answer;
    if (target == HeapGraph::kAbsent || is_about_to_be_freed(object)) {
        answer.in_cycle = true;
        return answer;
    }
    Roots roots(graph, target, caller);
    roots.ignore(object);  // the reference of the box
    const SearchResult found = PathFinder(graph, roots, VisitLimit(SIZE_MAX)).find(target, paths);
    Labels labels(Keys::shown);
    for (const RawPath& path : found.paths) {
        answer.paths.push_back(describe(graph, roots, path, labels));
    }
    answer.in_cycle = found.in_cycle;
    answer.is_never_freed = found.in_cycle && is_never_freed(graph, target);
    return answer;
}

WhyAlive search_heap(PyObject* box,
                     std::size_t paths,
                     CallerVariables caller,
                     bool untracked,
                     std::span<const OwnerReference> library,
                     collector::HiddenReferences hidden = {}) {
    WhyAlive answer;
    // With hidden references, this is not a free-threaded build, so that the search runs once.
    with_heap([&](collector::TrackedObjects& objects) {
        answer = search(objects, box, paths, caller, untracked, library, std::move(hidden));
    });
    return answer;
}

std::unordered_set<std::uint32_t> nodes_of(const HeapGraph& graph,
                                           std::span<PyObject* const> objects) {
    std::unordered_set<std::uint32_t> nodes;
    for (PyObject* const object : objects) {
        nodes.insert(graph.node_of(object));
    }
    return nodes;
}

}  // namespace

WhyAlive why_alive(PyObject* box,
                   std::size_t paths,
                   CallerVariables caller,
                   device::OwnerRegistry& registry,
                   const device::TorchLayout* layout) {
    const python::ErrorStash stash;
    const python::YoungCountGuard young_count;
    if (layout != nullptr) {
        registry.refresh_for_live_owners();
        const std::vector<OwnerReference> memory =
            memory_references(registry, PyList_GET_ITEM(box, 0));
        return search_heap(box, paths, caller, true, memory, hidden_references(registry, *layout));
    }
    WhyAlive answer = search_heap(box, paths, caller, false, {});
    // A search with library references is slower, so it runs only if an unknown reference keeps the
    // object alive.
    if (!answer.paths.empty() && answer.paths.front().root.kind == model::RootKind::c_code) {
        registry.refresh_for_live_owners();
        std::vector<OwnerReference> library = library_references(registry);
        const std::vector<OwnerReference> memory =
            memory_references(registry, PyList_GET_ITEM(box, 0));
        library.insert(library.end(), memory.begin(), memory.end());
        answer = search_heap(box, paths, caller, true, library);
        answer.is_incomplete =
            answer.in_cycle ||
            (!answer.paths.empty() && answer.paths.front().root.kind == model::RootKind::c_code);
    }
    return answer;
}

HolderSearch::HolderSearch(collector::TrackedObjects& objects,
                           std::span<PyObject* const> owned,
                           std::span<const OwnerReference> library,
                           std::span<PyObject* const> ignored,
                           std::span<const Fixture> fixtures,
                           std::span<PyObject* const> untracked,
                           Keys keys)
    : graph_(objects, nullptr, nullptr, untracked, library),
      roots_(graph_, HeapGraph::kAbsent, CallerVariables::count, fixtures),
      finder_(graph_, roots_, VisitLimit(graph_.size() / 4), nodes_of(graph_, ignored)),
      labels_(keys) {
    for (PyObject* const object : owned) {
        roots_.ignore(object);
    }
    graph_.drop_index(owned);
}

std::vector<model::RetentionPath> HolderSearch::paths_avoiding(
    PyObject* object,
    std::size_t count,
    const std::unordered_set<std::uint32_t>& roots,
    bool is_small_view) {
    std::vector<model::RetentionPath> paths;
    const std::uint32_t target = graph_.node_of(object);
    if (target != HeapGraph::kAbsent) {
        for (const RawPath& path : finder_.find(target, count, roots).paths) {
            paths.push_back(describe(graph_, roots_, path, labels_, is_small_view));
        }
    }
    return paths;
}

std::vector<model::RetentionPath> HolderSearch::paths(PyObject* object,
                                                      std::size_t count,
                                                      bool is_small_view) {
    return paths_avoiding(object, count, {}, is_small_view);
}

std::vector<model::RetentionPath> HolderSearch::carrier_paths(PyObject* object, std::size_t count) {
    return paths_avoiding(object, count, unread_variables(), false);
}

const std::unordered_set<std::uint32_t>& HolderSearch::unread_variables() {
    if (!unread_) {
        unread_.emplace();
        for (const Root& root : roots_.all()) {
            if (root.is_unread()) {
                unread_->insert(roots_.index_of(root));
            }
        }
    }
    return *unread_;
}

bool HolderSearch::is_collection(std::uint32_t node) const {
    constexpr Py_ssize_t kManyKeys = 64;
    PyObject* const object = graph_.object(node);
    if (PyList_CheckExact(object) || PyAnySet_CheckExact(object) ||
        capture::has_tp_name(Py_TYPE(object), "collections.deque") ||
        !graph_.hidden().of(object).empty()) {
        return true;
    }
    if (!PyDict_Check(object) || PyDict_GET_SIZE(object) <= kManyKeys || !roots_.of(node).empty()) {
        return false;
    }
    const std::span<const std::uint32_t> owners = graph_.holders(node);
    return std::ranges::none_of(
        owners, [&](std::uint32_t owner) { return is_folded(graph_.object(owner), object); });
}

bool HolderSearch::is_of_graph(std::uint32_t holder, std::uint32_t node) const {
    const device::LibraryReference* const reference = graph_.library_reference(holder, node);
    return reference != nullptr && std::string_view(reference->attribute) == "grad_fn";
}

std::vector<std::uint32_t> HolderSearch::collections(PyObject* object) {
    const std::uint32_t node = graph_.node_of(object);
    if (node == HeapGraph::kAbsent || !roots_.of(node).empty()) {
        return {};
    }
    const std::span<const std::uint32_t> holders = graph_.holders(node);
    std::vector<std::uint32_t> collections(holders.begin(), holders.end());
    std::ranges::sort(collections);
    bool is_in_graph = false;
    for (const std::uint32_t holder : collections) {
        const auto [known, is_new] = collections_.try_emplace(holder);
        if (is_new) {
            known->second = is_collection(holder);
        }
        if (!known->second && !is_of_graph(holder, node)) {
            return {};
        }
        is_in_graph = is_in_graph || !known->second;
    }
    // The C++ object that a graph keeps has a reference to its Python object.
    const bool has_other_holders = roots_.anonymous(node) > (is_in_graph ? 1 : 0);
    return has_other_holders ? std::vector<std::uint32_t>() : collections;
}

PyObject* HolderSearch::first_in(std::uint32_t collection,
                                 const std::unordered_set<PyObject*>& objects) const {
    if (!collections_.at(collection)) {  // a graph has no order
        return *std::ranges::min_element(
            objects, {}, [this](PyObject* each) { return graph_.node_of(each); });
    }
    PyObject* first = nullptr;
    const auto visit = [&](PyObject* each) {
        if (first == nullptr && objects.contains(each)) {
            first = each;
        }
    };
    PyObject* const list = graph_.object(collection);
    if (PyList_CheckExact(list)) {
        for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) {
            visit(PyList_GET_ITEM(list, i));
        }
    } else {
        capture::traverse_as(Py_TYPE(list), list, visit);
    }
    for (const collector::HiddenReference& each : graph_.hidden().of(list)) {
        visit(each.target);
    }
    return first;
}

}  // namespace cyclewatch::retention
