// SPDX-License-Identifier: Apache-2.0
#include "watch/live_owners.h"

#include <algorithm>
#include <iterator>
#include <new>
#include <unordered_set>
#include <vector>

#include "collector/tracked_objects.h"
#include "compat/features.h"
#include "compat/frame_access.h"
#include "python/guards.h"
#include "python/stop_the_world.h"
#include "python/type_traversal.h"
#include "watch/untracked_owners.h"

namespace cyclewatch::watch {
namespace {

// A list of all tracked objects. On free-threaded builds, it holds references to them, because
// other threads may free objects.
class AllObjects {
  public:
    AllObjects() {
        if constexpr (!CYCLEWATCH_HAS_NO_GIL) {
            if (!tracked_.fill({.generation = 2, .frozen = true})) {
                throw std::bad_alloc();
            }
            return;
        }
        const python::OwnedRef gc = python::steal(PyImport_ImportModule("gc"));
        held_ = python::steal(gc ? PyObject_CallMethod(gc.get(), "get_objects", nullptr) : nullptr);
        if (!held_ || !PyList_Check(held_.get())) {
            PyErr_Clear();
            throw std::bad_alloc();
        }
    }

    [[nodiscard]] std::span<PyObject* const> list() const {
        if constexpr (!CYCLEWATCH_HAS_NO_GIL) {
            return tracked_.objects();
        }
        return {PySequence_Fast_ITEMS(held_.get()),
                static_cast<std::size_t>(PyList_GET_SIZE(held_.get()))};
    }

  private:
    collector::TrackedObjects tracked_;
    python::OwnedRef held_;
};

// Keeps objects alive while the GIL may be released. Then removes those from the list that other
// threads have released.
class HeldObjects {
  public:
    explicit HeldObjects(std::vector<PyObject*>& objects) : objects_(objects) {
        std::ranges::transform(objects, std::back_inserter(held_), &python::borrow);
    }
    HeldObjects(const HeldObjects&) = delete;
    HeldObjects& operator=(const HeldObjects&) = delete;
    ~HeldObjects() {
        std::erase_if(objects_, [](PyObject* object) { return Py_REFCNT(object) == 1; });
    }

  private:
    std::vector<PyObject*>& objects_;
    std::vector<python::OwnedRef> held_;
};

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

// The modules, and what running functions refer to.
class ProgramRoots {
  public:
    ProgramRoots() : roots_{PyImport_GetModuleDict()} {
        cyclewatch_visit_threads(&ProgramRoots::add, this);
        if (out_of_memory_) {
            throw std::bad_alloc();
        }
    }
    [[nodiscard]] std::span<PyObject* const> list() const { return roots_; }

  private:
    // Called by C code, through which exceptions must not propagate.
    static void add(const cyclewatch_thread_reference* reference, void* context) noexcept {
        auto& self = *static_cast<ProgramRoots*>(context);
        try {
            if (reference->is_stale == 0) {
                self.roots_.push_back(reference->target);
            }
        } catch (const std::bad_alloc&) {
            self.out_of_memory_ = true;
        }
    }

    std::vector<PyObject*> roots_;
    bool out_of_memory_ = false;
};

}  // namespace

void LiveOwners::find(device::OwnerRegistry& registry, const collector::HeapScan& dead) {
    collector::release_scan_memory();  // the search for holders needs as much
    const AllObjects objects;
    std::vector<PyObject*> alive;
    // Those that still exist. Held, because reading graphs may release the GIL, and another thread
    // may then collect them.
    std::vector<python::OwnedRef> unreachable;
    for (PyObject* const object : objects.list()) {
        if (dead.collectable.contains(object)) {
            unreachable.push_back(python::borrow(object));
        } else if (!dead.frozen.contains(object)) {
            alive.push_back(object);
        }
    }
    for (PyObject* const object : alive) {
        if (device::OwnerReader* const reader = registry.reader_for(Py_TYPE(object))) {
            add(object, reader);
        }
    }
    if (registry.has_untracked_owners()) {
        UntrackedOwners untracked(registry);
        python::with_world_stopped([&] { untracked.find(objects.list(), dead); });
        untracked.move_to(held_, owners_, untracked_);
    }
    const python::GcPause pause;  // the library creates objects for the nodes and the tensors
    if (!unreachable.empty()) {
        const HeldObjects held(alive);
        find_saved_by_dead(registry, unreachable);
    }
    find_dependents(registry, unreachable);
    std::erase_if(alive, [&](PyObject* object) { return dependents_.contains(object); });
    std::vector<device::GraphTarget> targets;
    registry.add_graph_targets(alive, targets, unread_graphs_);
    keep_saved_by_hidden(registry);
    add_from_graphs(registry, targets);
    reached_by_dead_.clear();
    read_.clear();  // the search for holders must not find further references of ours
}

void LiveOwners::add_from_graphs(device::OwnerRegistry& registry,
                                 std::span<const device::GraphTarget> targets) {
    std::unordered_set<PyObject*> known;
    for (const device::DetectedOwner& owner : owners_) {
        known.insert(owner.object);
    }
    const auto add_new = [&](PyObject* target) {
        in_graphs_.insert(target);
        device::OwnerReader* const reader = registry.reader_for(Py_TYPE(target));
        if (reader != nullptr && known.insert(target).second) {
            add(target, reader);
        }
    };
    for (const device::GraphTarget& each : targets) {
        if (each.is_used || !reached_by_dead_.contains(each.source)) {
            saved_by_dead_.erase(each.object.get());
        }
        add_new(each.object.get());
    }
    if (unread_graphs_.reason != device::UnreadGraphs::Reason::none) {
        saved_by_dead_.clear();  // one of these graphs may lead to the same tensors
    }
    keep_bases_of_living_views();
    for (const auto& [object, saved] : saved_by_dead_) {
        add_new(object);
    }
}

// What C++ code outside of these graphs holds, such as a module of torch.jit, is left out.
void LiveOwners::find_saved_by_dead(device::OwnerRegistry& registry,
                                    std::span<const python::OwnedRef> unreachable) {
    std::vector<PyObject*> dead;
    std::ranges::transform(unreachable, std::back_inserter(dead), &python::OwnedRef::get);
    for (PyObject* const object : dead) {
        count_bases(registry, object);
    }
    std::vector<device::GraphTarget> targets;
    registry.add_graph_targets(dead, targets, unread_graphs_);
    for (const device::GraphTarget& each : targets) {
        if (each.source != nullptr) {
            if (held_.empty() || held_.back().get() != each.source) {
                held_.push_back(python::borrow(each.source));
            }
            count_saved(registry, each.object.get(), each.source);
        }
        // Not the objects of nodes: to torch, a reference of ours would look like a program's.
        if (registry.reader_for(Py_TYPE(each.object.get())) != nullptr) {
            read_.push_back(python::borrow(each.object.get()));
        }
    }
    std::erase_if(saved_by_dead_, [&](const auto& each) {
        device::OwnerReader* const reader = registry.reader_for(Py_TYPE(each.first));
        return reader->library_holders(each.first) > each.second.references;
    });
}

// The library's reference to the Python object of such an owner makes the owner, and the graphs
// that it leads to, seem reachable.
void LiveOwners::find_dependents(device::OwnerRegistry& registry,
                                 std::span<const python::OwnedRef> unreachable) {
    ReferenceCounts known;
    for (const auto& [object, saved] : saved_by_dead_) {
        known.emplace(object, 0);
    }
    if (known.empty()) {
        return;
    }
    count_references(unreachable, known);
    for (const std::vector<python::OwnedRef>* const ours : {&held_, &read_}) {
        for (const python::OwnedRef& each : *ours) {
            if (const auto found = known.find(each.get()); found != known.end()) {
                ++found->second;
            }
        }
    }
    for (const auto& [object, references] : known) {
        device::OwnerReader* const reader = registry.reader_for(Py_TYPE(object));
        if (Py_REFCNT(object) <= references + reader->hidden_references(object)) {
            dependents_.insert(object);
        }
    }
    std::erase_if(owners_, [&](const device::DetectedOwner& owner) {
        return dependents_.contains(owner.object);
    });
}

// The base of an unreachable view has a part of the view's graph. The gradient of an owner is an
// owner itself.
void LiveOwners::count_bases(device::OwnerRegistry& registry, PyObject* object) {
    device::OwnerReader* const reader = registry.reader_for(Py_TYPE(object));
    if (reader == nullptr || reader->runs_user_code()) {
        return;
    }
    std::vector<device::LibraryReference> references;
    reader->add_references(object, references);
    for (const device::LibraryReference& each : references) {
        if (!each.removable) {
            held_.push_back(python::borrow(object));  // as the source
            read_.push_back(python::borrow(each.target));
            count_saved(registry, each.target, object);
        }
    }
}

// A living tensor keeps its gradient and its base, whose graphs may lead to the same tensors. They
// may have no Python object yet, or only C++ code may refer to it, like to those of dead graphs.
void LiveOwners::keep_saved_by_hidden(device::OwnerRegistry& registry) {
    if (saved_by_dead_.empty()) {
        return;
    }
    std::vector<PyObject*> holders;
    for (const auto& [object, saved] : saved_by_dead_) {
        holders.push_back(object);
    }
    for (const device::DetectedOwner& owner : owners_) {
        holders.push_back(owner.object);
    }
    std::vector<PyObject*> hidden;
    std::vector<device::LibraryReference> references;
    for (PyObject* const holder : holders) {
        device::OwnerReader* const reader = registry.reader_for(Py_TYPE(holder));
        if (reader == nullptr || reader->runs_user_code()) {
            continue;
        }
        references.clear();
        reader->add_references(holder, references);
        for (const device::LibraryReference& each : references) {
            const bool is_gradient = each.removable;
            if (is_gradient || !saved_by_dead_.contains(holder)) {
                read_.push_back(python::borrow(each.target));
                hidden.push_back(each.target);
            }
        }
    }
    std::vector<device::GraphTarget> targets;
    registry.add_graph_targets(hidden, targets, unread_graphs_);
    for (const device::GraphTarget& each : targets) {
        saved_by_dead_.erase(each.object.get());
    }
}

void LiveOwners::count_saved(device::OwnerRegistry& registry, PyObject* object, PyObject* source) {
    reached_by_dead_.insert(object);
    device::OwnerReader* const reader = registry.reader_for(Py_TYPE(object));
    if (reader == nullptr || reader->runs_user_code()) {
        return;
    }
    const auto [known, is_new] =
        saved_by_dead_.try_emplace(object, Saved{.source = source, .references = 0, .views = {}});
    ++known->second.references;
    if (!is_new) {
        return;
    }
    std::vector<device::LibraryReference> references;
    reader->add_references(object, references);
    for (const device::LibraryReference& each : references) {
        if (!each.removable) {  // a gradient is not needed for the backward pass
            read_.push_back(python::borrow(each.target));
            count_saved(registry, each.target, source);
            if (const auto base = saved_by_dead_.find(each.target); base != saved_by_dead_.end()) {
                base->second.views.push_back(object);
            }
        }
    }
}

// A base is dead only if all of its counted views are.
void LiveOwners::keep_bases_of_living_views() {
    const auto is_alive = [&](PyObject* view) { return !saved_by_dead_.contains(view); };
    const auto has_living_view = [&](const auto& each) {
        return std::ranges::any_of(each.second.views, is_alive);
    };
    while (std::erase_if(saved_by_dead_, has_living_view) > 0) {
    }
}

void LiveOwners::find_held_by_c_code(device::OwnerRegistry& registry,
                                     const collector::HeapScan& dead) {
    const auto visit = [&](PyObject* object) {
        if (device::OwnerReader* const reader = registry.reader_for(Py_TYPE(object))) {
            add(object, reader);
        }
    };
    seem_held_by_c_code_ = !registry.has_untracked_owners() &&
                           collector::visit_reached_otherwise(ProgramRoots().list(), visit);
    if (!seem_held_by_c_code_) {
        find(registry, dead);
    }
    collector::release_scan_memory();
}

void LiveOwners::add(PyObject* object, device::OwnerReader* reader) {
    held_.push_back(python::borrow(object));
    owners_.push_back({object, reader});
}

std::vector<PyObject*> LiveOwners::objects() const {
    std::vector<PyObject*> objects;
    std::ranges::copy_if(untracked_, std::back_inserter(objects), [](PyObject* object) {
        return PyType_IS_GC(Py_TYPE(object)) != 0;
    });
    for (const device::DetectedOwner& owner : owners_) {
        objects.insert(objects.end(), owner.reader->runs_user_code() ? 2 : 1, owner.object);
    }
    return objects;
}

std::vector<PyObject*> LiveOwners::saved_by_dead(
    const std::unordered_set<const PyObject*>& dead) const {
    std::vector<PyObject*> objects;
    for (const auto& [object, saved] : saved_by_dead_) {
        if (dead.contains(object) || dependents_.contains(object)) {
            objects.push_back(object);
        }
    }
    return objects;
}

LiveOwners find_live_owners(device::OwnerRegistry& registry) {
    registry.refresh_for_live_owners();
    // Scan before find() lists the objects, which may make all of them reachable.
    collector::HeapScan dead;
    if (!collector::scan_heap({.generation = 2, .frozen = true}, dead)) {
        throw std::bad_alloc();
    }
    LiveOwners live;
    live.find(registry, dead);
    return live;
}

}  // namespace cyclewatch::watch
