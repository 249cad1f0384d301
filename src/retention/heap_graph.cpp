// SPDX-License-Identifier: Apache-2.0
#include "retention/heap_graph.h"

#include <algorithm>
#include <limits>
#include <new>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "collector/object_arrays.h"
#include "compat/frame_access.h"

namespace cyclewatch::retention {

namespace {

bool is_tracked(PyObject* object) noexcept {
    return PyObject_IS_GC(object) != 0 && PyObject_GC_IsTracked(object) != 0;
}

}  // namespace

HeapGraph::HeapGraph(collector::TrackedObjects& objects,
                     PyObject* target,
                     PyObject* ignored,
                     std::span<PyObject* const> untracked,
                     std::span<const OwnerReference> library,
                     collector::HiddenReferences hidden)
    : hidden_(std::move(hidden)), objects_(objects) {
    // Untracked objects that the caller has added are at the end.
    for (auto rest = objects_.objects(); !rest.empty() && !is_tracked(rest.back());
         rest = rest.first(rest.size() - 1)) {
        untracked_objects_.insert(rest.back());
    }
    if (target != nullptr && !is_tracked(target)) {
        add_untracked(target);
    }
    add_arrays();
    if (!untracked.empty()) {
        add_untracked_holders(untracked);
    }
    untracked_objects_ = {};
    walk_.emplace(objects_.objects());
    add_hidden();
    ignored_ = node_of(ignored);
    add_library(library);
    count_references();
    store_holders();
}

void HeapGraph::add_untracked(PyObject* object) {
    if (untracked_objects_.insert(object).second && !objects_.add(object)) {
        throw std::bad_alloc();
    }
}

void HeapGraph::add_arrays() {
    collector::add_array_references(objects_.objects(), hidden_);
    for (PyObject* const object : hidden_.untracked) {
        add_untracked(object);
    }
}

void HeapGraph::add_hidden() {
    for (const collector::HiddenReference& each : hidden_.references) {
        if (!each.is_visited && node_of(each.holder) != kAbsent &&
            node_of(each.target) != kAbsent) {
            untracked_.emplace_back(each.holder, each.target);
        }
    }
    hidden_.for_each_count([this](PyObject* object, Py_ssize_t by) {
        if (const std::uint32_t node = node_of(object); node != kAbsent) {
            uncounted_[node] += by;
        }
    });
}

const collector::HiddenReference* HeapGraph::hidden_reference(std::uint32_t holder,
                                                              std::uint32_t target) const noexcept {
    const auto references = hidden_.of(object(holder));
    const auto found =
        std::ranges::find(references, object(target), &collector::HiddenReference::target);
    return found == references.end() ? nullptr : &*found;
}

std::uint32_t HeapGraph::node_of(PyObject* object) const noexcept {
    if (walk_) {
        return walk_->position_of(object);
    }
    const auto kept = kept_nodes_.find(object);
    return kept == kept_nodes_.end() ? kAbsent : kept->second;
}

void HeapGraph::drop_index(std::span<PyObject* const> objects) {
    for (PyObject* const object : objects) {
        kept_nodes_.try_emplace(object, node_of(object));
    }
    walk_.reset();
}

void HeapGraph::add_library(std::span<const OwnerReference> references) {
    for (const OwnerReference& each : references) {
        const std::uint32_t holder = node_of(each.holder);
        const std::uint32_t target = node_of(each.reference.target);
        if (holder != kAbsent && target != kAbsent) {
            library_.push_back({holder, target, each.reference});
            uncounted_[target] += each.reference.completes ? 0 : 1;
        }
    }
    std::ranges::stable_sort(library_, {}, &LibraryEdge::ends);
}

const device::LibraryReference* HeapGraph::library_reference(std::uint32_t holder,
                                                             std::uint32_t target) const noexcept {
    const auto found =
        std::ranges::lower_bound(library_, std::pair(holder, target), {}, &LibraryEdge::ends);
    const bool is_found =
        found != library_.end() && found->holder == holder && found->target == target;
    return is_found ? &found->reference : nullptr;
}

namespace {

template <typename Visit>
void for_each_field(PyObject* holder, const Visit& visit) {
    constexpr auto kWord = static_cast<Py_ssize_t>(sizeof(PyObject*));
    // An allocator of the type may have allocated less than tp_basicsize: datetime.datetime omits
    // the field for the time zone if there is none.
    if (Py_TYPE(holder)->tp_alloc != PyType_GenericAlloc) {
        return;
    }
    const Py_ssize_t end = Py_TYPE(holder)->tp_basicsize;
    for (auto at = static_cast<Py_ssize_t>(sizeof(PyObject)); at + kWord <= end; at += kWord) {
        const auto* const field = reinterpret_cast<const char*>(holder) + at;
        visit(*reinterpret_cast<PyObject* const*>(field), at);
    }
}

}  // namespace

Py_ssize_t field_with(PyObject* holder, const PyObject* target) noexcept {
    Py_ssize_t found = 0;
    for_each_field(holder, [&](PyObject* field, Py_ssize_t offset) {
        found = found == 0 && field == target ? offset : found;
    });
    return found;
}

// Finds untracked objects that refer to one of the targets: objects without a GC header that have a
// C field with the target, and containers, such as tuples of arrays, that the collector has stopped
// tracking. Ignores instances of the is_value() types: they have no such fields, but one of their
// words could equal the address of a target by chance.
struct HeapGraph::UntrackedHolders {
    const std::unordered_set<PyObject*> targets;
    const collector::HiddenReferences& arrays;
    std::vector<std::pair<PyObject*, PyObject*>> found{};
    std::vector<PyObject*> containers{};
    std::unordered_map<PyObject*, bool> known{};  // true: leads to a target
    bool leads = false;                           // the container that is being visited
    int nesting = 0;
    bool out_of_memory = false;

    static bool is_value(PyTypeObject* type) noexcept {
        return type == &PyLong_Type || type == &PyUnicode_Type || type == &PyFloat_Type ||
               type == &PyBytes_Type || type == &PyBool_Type || type == &PyCode_Type;
    }
    static bool is_untracked_container(PyObject* object) noexcept {
        return PyObject_IS_GC(object) != 0 && PyObject_GC_IsTracked(object) == 0;
    }
    void consider(PyObject* object) noexcept {
        if (object == nullptr || is_value(Py_TYPE(object))) {
            return;
        }
        const bool has_header = PyType_IS_GC(Py_TYPE(object)) != 0;
        try {
            leads = leads || targets.contains(object);
            if (!has_header || is_untracked_container(object)) {
                leads = look(object, has_header) || leads;
            }
        } catch (const std::bad_alloc&) {
            out_of_memory = true;
        }
    }
    // True if `object` refers to a target, or to an untracked object that does.
    bool look(PyObject* object, bool is_container) {
        constexpr int kMostNesting = 32;
        if (const auto before = known.find(object); before != known.end()) {
            return before->second;
        }
        known.emplace(object, false);
        bool has_target = false;
        if (!is_container) {
            for_each_field(object, [&](PyObject* field, Py_ssize_t /*offset*/) {
                if (targets.contains(field) && !is_of_array(object, field)) {
                    found.emplace_back(object, field);
                    has_target = true;
                }
            });
        } else if (nesting < kMostNesting) {
            const bool outer = std::exchange(leads, false);
            ++nesting;
            python::TypeTraversal(Py_TYPE(object)).visit<&visit>(object, this);
            --nesting;
            has_target = std::exchange(leads, outer);
            if (has_target) {
                containers.push_back(object);
            }
        }
        return known[object] = has_target;
    }
    [[nodiscard]] bool is_of_array(PyObject* object, PyObject* field) const noexcept {
        return std::ranges::any_of(arrays.of(object),
                                   [&](const auto& each) { return each.target == field; });
    }
    static int visit(PyObject* object, void* context) noexcept {
        static_cast<UntrackedHolders*>(context)->consider(object);
        return 0;
    }
    static void visit_thread(const cyclewatch_thread_reference* reference, void* context) {
        if (reference->is_stale == 0) {
            static_cast<UntrackedHolders*>(context)->consider(reference->target);
        }
    }
};

void HeapGraph::add_untracked_holders(std::span<PyObject* const> targets) {
    UntrackedHolders holders{{targets.begin(), targets.end()}, hidden_};
    cyclewatch_visit_threads(&UntrackedHolders::visit_thread, &holders);
    {
        collector::ReferenceWalk walk(objects_.objects());
        for (std::size_t i = 0; i < objects_.objects().size(); ++i) {
            walk.traverse<UntrackedHolders::visit>(i, &holders);
        }
    }
    for (const auto& [holder, target] : holders.found) {
        add_untracked(holder);
    }
    for (PyObject* const container : holders.containers) {
        add_untracked(container);
    }
    if (holders.out_of_memory) {
        throw std::bad_alloc();
    }
    untracked_ = std::move(holders.found);
}

// After this call, first_[node] is the end of the range in holders_ that belongs to `node`.
void HeapGraph::count_references() {
    first_.assign(size() + 1, 0);
    for (holder_ = 0; holder_ < size(); ++holder_) {
        walk_->prefetch(holder_);
        if (holder_ != ignored_) {
            walk_->traverse<count>(holder_, this);
        }
    }
    for (const auto& [holder, target] : untracked_) {
        ++first_[node_of(target)];
    }
    for (const LibraryEdge& each : library_) {
        ++first_[each.target];
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
    for (const auto& [holder, target] : untracked_) {
        holders_[--first_[node_of(target)]] = node_of(holder);
    }
    for (const LibraryEdge& each : library_) {
        holders_[--first_[each.target]] = each.holder;
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
