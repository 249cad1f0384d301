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
    device::ReaderSearch readers(registry);
    for (PyObject* const object : alive) {
        if (device::OwnerReader* const reader = readers.reader_of(object)) {
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
        dead_graphs_.read(registry, unreachable, unread_graphs_);
    }
    dead_graphs_.find_dependents(registry, unreachable, held_);
    std::erase_if(alive, [&](PyObject* object) { return dead_graphs_.is_dependent(object); });
    std::erase_if(owners_, [&](const device::DetectedOwner& owner) {
        return dead_graphs_.is_dependent(owner.object);
    });
    std::vector<device::GraphTarget> targets;
    registry.add_graph_targets(alive, targets, unread_graphs_);
    const std::vector<python::OwnedRef> dead_targets =
        dead_graphs_.keep_unreachable(registry, owners_, targets, unread_graphs_);
    add_from_graphs(registry, targets, dead_targets);
}

void LiveOwners::add_from_graphs(device::OwnerRegistry& registry,
                                 std::span<const device::GraphTarget> targets,
                                 std::span<const python::OwnedRef> dead_targets) {
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
        add_new(each.object.get());
    }
    for (const python::OwnedRef& each : dead_targets) {
        add_new(each.get());
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
    std::vector<PyObject*> objects = dead_graphs_.saved();
    std::erase_if(objects, [&](PyObject* object) {
        return !dead.contains(object) && !dead_graphs_.is_dependent(object);
    });
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
