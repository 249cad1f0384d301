// SPDX-License-Identifier: Apache-2.0
#include "retention/heap_graph.h"

#include <limits>
#include <new>

namespace cyclewatch::retention {

HeapGraph::HeapGraph(PyObject* target, PyObject* ignored) {
    if (!objects_.fill({.generation = 2, .frozen = true})) {
        throw std::bad_alloc();
    }
    const bool is_tracked =
        target == nullptr || (PyObject_IS_GC(target) != 0 && PyObject_GC_IsTracked(target) != 0);
    if (!is_tracked && !objects_.add(target)) {
        throw std::bad_alloc();
    }
    walk_.emplace(objects_.objects());
    ignored_ = node_of(ignored);
    count_references();
    store_holders();
}

// Afterwards, first_[node] is the end of the holders of `node`.
void HeapGraph::count_references() {
    first_.assign(size() + 1, 0);
    for (holder_ = 0; holder_ < size(); ++holder_) {
        walk_->prefetch(holder_);
        if (holder_ != ignored_) {
            walk_->traverse<count>(holder_, this);
        }
    }
    std::uint64_t end = 0;
    for (std::uint32_t& each : first_) {
        end += each;
        each = static_cast<std::uint32_t>(end);
    }
    if (end > std::numeric_limits<std::uint32_t>::max()) {
        throw std::bad_alloc();
    }
    holders_.resize(end);
}

void HeapGraph::store_holders() {
    for (holder_ = 0; holder_ < size(); ++holder_) {
        walk_->prefetch(holder_);
        if (holder_ != ignored_) {
            walk_->traverse<store>(holder_, this);
        }
    }
}

int HeapGraph::count(PyObject* target, void* context) noexcept {
    auto& graph = *static_cast<HeapGraph*>(context);
    if (const std::uint32_t at = graph.walk_->find(target); at != kAbsent) {
        ++graph.first_[at];
    }
    return 0;
}

int HeapGraph::store(PyObject* target, void* context) noexcept {
    auto& graph = *static_cast<HeapGraph*>(context);
    if (const std::uint32_t at = graph.walk_->find(target); at != kAbsent) {
        graph.holders_[--graph.first_[at]] = graph.holder_;
    }
    return 0;
}

}  // namespace cyclewatch::retention
