// SPDX-License-Identifier: Apache-2.0
#include "watch/dead_graphs.h"

#include <algorithm>
#include <iterator>

#include "python/type_traversal.h"

namespace cyclewatch::watch {
namespace {

using ReferenceCounts = std::unordered_map<PyObject*, Py_ssize_t>;

int count_reference(PyObject* target, void* context) {
    auto& counts = *static_cast<ReferenceCounts*>(context);
    if (const auto found = counts.find(target); found != counts.end()) {
        ++found->second;
    }
    return 0;
}

// Counts those of the references from `holders` that lead to the keys of `counts`.
void count_references(std::span<const python::OwnedRef> holders, ReferenceCounts& counts) {
    for (const python::OwnedRef& holder : holders) {
        const python::TypeTraversal traversal(Py_TYPE(holder.get()));
        if (traversal.has_gc_header(holder.get())) {
            traversal.visit<&count_reference>(holder.get(), &counts);
        }
    }
}

// The references of `object` that its library stores; none if reading them would run user code.
std::vector<device::LibraryReference> references_of(device::OwnerRegistry& registry,
                                                    PyObject* object) {
    std::vector<device::LibraryReference> references;
    if (auto* const reader = registry.native_reader_for(Py_TYPE(object))) {
        reader->add_references(object, references);
    }
    return references;
}

}  // namespace

void DeadGraphs::read(device::OwnerRegistry& registry,
                      std::span<const python::OwnedRef> unreachable,
                      device::UnreadGraphs& unread) {
    for (const python::OwnedRef& object : unreachable) {
        count_bases(registry, object.get());
    }
    std::vector<PyObject*> dead;
    std::ranges::transform(unreachable, std::back_inserter(dead), &python::OwnedRef::get);
    std::vector<device::GraphTarget> targets;
    registry.add_graph_targets(dead, targets, unread);
    for (const device::GraphTarget& each : targets) {
        if (each.source != nullptr) {
            if (sources_.empty() || sources_.back().get() != each.source) {
                sources_.push_back(python::borrow(each.source));
            }
            count_saved(registry, each.object.get(), each.source);
        }
        // Not the objects of nodes: to torch, a reference of ours would look like a program's.
        if (registry.reader_for(Py_TYPE(each.object.get())) != nullptr) {
            read_.push_back(python::borrow(each.object.get()));
        }
    }
    std::erase_if(saved_, [&](const auto& each) {
        device::OwnerReader* const reader = registry.reader_for(Py_TYPE(each.first));
        return reader->library_holders(each.first) > each.second.references;
    });
}

// The base of an unreachable view has a part of the view's graph. The gradient of an owner is an
// owner itself.
void DeadGraphs::count_bases(device::OwnerRegistry& registry, PyObject* object) {
    for (const device::LibraryReference& each : references_of(registry, object)) {
        if (!each.removable) {
            sources_.push_back(python::borrow(object));
            read_.push_back(python::borrow(each.target));
            count_saved(registry, each.target, object);
        }
    }
}

void DeadGraphs::count_saved(device::OwnerRegistry& registry, PyObject* object, PyObject* source) {
    reached_.insert(object);
    if (registry.native_reader_for(Py_TYPE(object)) == nullptr) {
        return;
    }
    const auto [known, is_new] = saved_.try_emplace(object, Saved{source, 0, {}});
    ++known->second.references;
    if (!is_new) {
        return;
    }
    for (const device::LibraryReference& each : references_of(registry, object)) {
        if (!each.removable) {  // a gradient is not needed for the backward pass
            read_.push_back(python::borrow(each.target));
            count_saved(registry, each.target, source);
            if (const auto base = saved_.find(each.target); base != saved_.end()) {
                base->second.views.push_back(object);
            }
        }
    }
}

void DeadGraphs::find_dependents(device::OwnerRegistry& registry,
                                 std::span<const python::OwnedRef> unreachable,
                                 std::span<const python::OwnedRef> ours) {
    ReferenceCounts known;
    for (const auto& [object, saved] : saved_) {
        known.emplace(object, 0);
    }
    if (known.empty()) {
        return;
    }
    count_references(unreachable, known);
    using References = std::span<const python::OwnedRef>;
    for (const References held : {ours, References(sources_), References(read_)}) {
        for (const python::OwnedRef& each : held) {
            count_reference(each.get(), &known);
        }
    }
    for (const auto& [object, references] : known) {
        device::OwnerReader* const reader = registry.reader_for(Py_TYPE(object));
        if (Py_REFCNT(object) <= references + reader->hidden_references(object)) {
            dependents_.insert(object);
        }
    }
}

std::vector<python::OwnedRef> DeadGraphs::keep_unreachable(
    device::OwnerRegistry& registry,
    std::span<const device::DetectedOwner> owners,
    std::span<const device::GraphTarget> targets,
    device::UnreadGraphs& unread) {
    if (!saved_.empty()) {
        keep_saved_by_hidden(registry, owners, unread);
    }
    for (const device::GraphTarget& each : targets) {
        if (each.is_used || !reached_.contains(each.source)) {
            saved_.erase(each.object.get());
        }
    }
    if (unread.reason != device::UnreadGraphs::Reason::none) {
        saved_.clear();
    }
    keep_bases_of_living_views();
    std::vector<python::OwnedRef> left;
    std::ranges::transform(saved(), std::back_inserter(left), &python::borrow);
    reached_.clear();
    read_.clear();  // a search for holders must not find further references of ours
    return left;
}

// A living tensor keeps its gradient and its base, whose graphs may lead to the same tensors. They
// may have no Python object yet, or only C++ code may refer to it, like to those of dead graphs.
void DeadGraphs::keep_saved_by_hidden(device::OwnerRegistry& registry,
                                      std::span<const device::DetectedOwner> owners,
                                      device::UnreadGraphs& unread) {
    std::vector<PyObject*> holders = saved();
    std::ranges::transform(owners, std::back_inserter(holders), &device::DetectedOwner::object);
    std::vector<PyObject*> hidden;
    for (PyObject* const holder : holders) {
        for (const device::LibraryReference& each : references_of(registry, holder)) {
            const bool is_gradient = each.removable;
            if (is_gradient || !saved_.contains(holder)) {
                read_.push_back(python::borrow(each.target));
                hidden.push_back(each.target);
            }
        }
    }
    std::vector<device::GraphTarget> targets;
    registry.add_graph_targets(hidden, targets, unread);
    for (const device::GraphTarget& each : targets) {
        saved_.erase(each.object.get());
    }
}

// A base is dead only if all of its counted views are.
void DeadGraphs::keep_bases_of_living_views() {
    const auto is_alive = [&](PyObject* view) { return !saved_.contains(view); };
    const auto has_living_view = [&](const auto& each) {
        return std::ranges::any_of(each.second.views, is_alive);
    };
    while (std::erase_if(saved_, has_living_view) > 0) {
    }
}

std::vector<PyObject*> DeadGraphs::saved() const {
    std::vector<PyObject*> objects;
    for (const auto& [object, saved] : saved_) {
        objects.push_back(object);
    }
    return objects;
}

}  // namespace cyclewatch::watch
