// SPDX-License-Identifier: Apache-2.0
#include "collector/heap_scan.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "collector/object_arrays.h"
#include "compat/gc_list.h"
#include "python/guards.h"
#include "python/references.h"

namespace cyclewatch::collector {
namespace {

// The search for unreachable objects. Each object has an integer state. Initially, the state is the
// object's reference count minus the references from other candidates. During the sweep, 0 means
// that the object has not been reached. A positive state means that the object is alive but has not
// been traversed by the sweep yet. All other objects that have been reached have a negative state.
// The negative states also link the objects to traverse next into a stack: each state encodes the
// position of the next object down the stack.
class UnreachableSearch {
  public:
    // May throw std::bad_alloc. The objects must stay valid until divide() returns, and `hidden`,
    // which may be null, must outlive this object.
    void run(std::span<PyObject* const> objects, const HiddenReferences* hidden) {
        objects_ = objects;
        hidden_ = hidden;
        walk_.start(objects);
        states_.assign(objects.size(), 0);
        find_hidden_holders();
        for (std::size_t i = 0; i < objects_.size(); ++i) {
            walk_.prefetch(i);
            states_[i] += references_of(objects_[i]);
            traverse<subtract>(i);
        }
        count_hidden();
        for (position_ = 0; position_ < objects_.size(); ++position_) {
            walk_.prefetch(position_);
            // An object with a negative state is treated as alive. The state becomes negative if a
            // faulty tp_traverse visits a reference that its object does not own.
            if (states_[position_] != 0) {
                states_[position_] = link(kNone);
                traverse<reach>(position_);
            }
            while (top_ != kNone) {
                const std::uint32_t reached = top_;
                top_ = below(states_[reached]);
                traverse<reach>(reached);
            }
        }
    }

    // Moves the unreachable objects into `scan`. `first_frozen` is the position of the first frozen
    // object.
    void divide(std::size_t first_frozen, HeapScan& scan) {
        std::vector<PyObject*> collectable;
        std::vector<PyObject*> frozen;
        if constexpr (CYCLEWATCH_HAS_NO_GIL) {
            find_untracked();
        }
        // Adds to `frozen` everything that is reachable from an unreachable frozen object. The
        // sweep is at the end of the list, so reach() pushes every newly reached object onto the
        // stack.
        for (std::size_t i = first_frozen; i < objects_.size(); ++i) {
            if (states_[i] == 0) {
                push(static_cast<std::uint32_t>(i));
            }
            while (top_ != kNone) {
                const std::uint32_t reached = top_;
                top_ = below(states_[reached]);
                frozen.push_back(objects_[reached]);
                traverse<reach>(reached);
            }
        }
        for (std::size_t i = 0; i < first_frozen; ++i) {
            if (states_[i] == 0 && (untracked_.empty() || !untracked_[i])) {
                collectable.push_back(objects_[i]);
            }
        }
        scan.collectable.assign(collectable);
        scan.frozen.assign(frozen);
    }

    // Call after divide(): calls visit(object) for each living object that cannot be reached from
    // `roots`.
    void visit_reached_otherwise(std::span<PyObject* const> roots,
                                 const std::function<void(PyObject*)>& visit) {
        is_marked_.assign(objects_.size(), false);
        marked_.reserve(objects_.size());
        for (PyObject* const root : roots) {
            mark(root, this);
        }
        while (!marked_.empty()) {
            const std::uint32_t at = marked_.back();
            marked_.pop_back();
            traverse<mark>(at);
        }
        for (std::size_t i = 0; i < objects_.size(); ++i) {
            if (states_[i] != 0 && !is_marked_[i]) {
                visit(objects_[i]);
            }
        }
    }

  private:
    static constexpr std::uint32_t kNone = ReferenceWalk::kMaxObjects;

    static std::int32_t link(std::uint32_t next) { return -1 - static_cast<std::int32_t>(next); }
    static std::uint32_t below(std::int32_t link) { return static_cast<std::uint32_t>(-1 - link); }

    void push(std::uint32_t position) {
        states_[position] = link(top_);
        top_ = position;
    }

    // An object whose references are not all counted has a large count (cw_is_fully_counted()), and
    // is treated as alive.
    static std::int32_t references_of(PyObject* object) {
        return static_cast<std::int32_t>(
            std::min<Py_ssize_t>(Py_REFCNT(object), std::numeric_limits<std::int32_t>::max()));
    }

    template <visitproc kVisit>
    void traverse(std::size_t position) {
        walk_.traverse<kVisit>(position, this);
        if (!is_hidden_holder_.empty() && is_hidden_holder_[position]) {
            for (const HiddenReference& reference : hidden_->of(objects_[position])) {
                if (!reference.is_visited) {
                    kVisit(reference.target, this);
                }
            }
        }
    }

    // Most objects hold no hidden references. Looking each object up would take longer than the
    // rest of the search.
    void find_hidden_holders() {
        is_hidden_holder_.clear();
        if (hidden_ == nullptr) {
            return;
        }
        is_hidden_holder_.assign(objects_.size(), false);
        const PyObject* last = nullptr;
        for (const HiddenReference& reference : hidden_->references) {
            if (std::exchange(last, reference.holder) == reference.holder) {
                continue;
            }
            const std::uint32_t at = walk_.position_of(reference.holder);
            if (at != ReferenceWalk::kAbsent) {
                is_hidden_holder_[at] = true;
            }
        }
    }

    void count_hidden() {
        if (hidden_ == nullptr) {
            return;
        }
        hidden_->for_each_count([this](PyObject* object, Py_ssize_t by) {
            if (const std::uint32_t at = walk_.position_of(object); at != ReferenceWalk::kAbsent) {
                states_[at] += static_cast<std::int32_t>(by);
            }
        });
    }

    static int subtract(PyObject* target, void* context) noexcept {
        auto& search = *static_cast<UnreachableSearch*>(context);
        if (const std::uint32_t at = search.walk_.find(target); at != ReferenceWalk::kAbsent) {
            --search.states_[at];
        }
        return 0;
    }

    static int reach(PyObject* target, void* context) noexcept {
        auto& search = *static_cast<UnreachableSearch*>(context);
        const std::uint32_t at = search.walk_.find(target);
        if (at == ReferenceWalk::kAbsent || search.states_[at] != 0) {
            return 0;
        }
        if (at > search.position_) {
            search.states_[at] = 1;  // the sweep will visit it, in the order of allocation
        } else {
            search.push(at);
        }
        return 0;
    }

    // Never throws: `marked_` has room for every object.
    static int mark(PyObject* target, void* context) noexcept {
        auto& search = *static_cast<UnreachableSearch*>(context);
        const std::uint32_t at = search.walk_.find(target);
        if (at != ReferenceWalk::kAbsent && !search.is_marked_[at]) {
            search.is_marked_[at] = true;
            search.marked_.push_back(at);
        }
        return 0;
    }

    // Finds the objects that the next collection will untrack and then ignore. Free-threaded builds
    // untrack tuples and dicts that contain only numbers and strings. A tuple that contains another
    // tuple is untracked only if the collector has already examined the inner tuple, so the result
    // depends on the order of the list.
    void find_untracked() {
        untracked_.assign(objects_.size(), false);
        for (std::size_t i = 0; i < objects_.size(); ++i) {
            PyObject* const object = objects_[i];
            untracked_[i] = (PyTuple_CheckExact(object) || PyDict_CheckExact(object)) &&
                            Py_TYPE(object)->tp_traverse(object, stop_if_tracked, this) == 0;
        }
    }

    static int stop_if_tracked(PyObject* target, void* context) noexcept {
        const auto& search = *static_cast<const UnreachableSearch*>(context);
        if (!PyObject_IS_GC(target)) {
            return 0;
        }
        if (!PyTuple_CheckExact(target)) {
            return 1;
        }
        const std::uint32_t at = search.walk_.position_of(target);
        return at == ReferenceWalk::kAbsent ? PyObject_GC_IsTracked(target)
                                            : !search.untracked_[at];
    }

    std::span<PyObject* const> objects_;
    const HiddenReferences* hidden_ = nullptr;
    ReferenceWalk walk_;
    std::vector<std::int32_t> states_;
    std::vector<bool> is_hidden_holder_;  // empty without hidden references
    std::vector<bool> untracked_;         // empty on builds with a GIL
    std::vector<bool> is_marked_;         // by visit_reached_otherwise()
    std::vector<std::uint32_t> marked_;   // to be traversed
    std::size_t position_ = 0;            // of the sweep
    std::uint32_t top_ = kNone;
};

}  // namespace

bool collector_is_known() noexcept {
    const char* const variable = std::getenv("CYCLEWATCH_STRATEGY");
    const std::string_view strategy = variable != nullptr ? variable : "";
    return cw_collector_is_known() != 0 && strategy != "heap-scan";
}

void find_generations() noexcept {
    const python::ErrorStash stash;
    static bool found = false;
    const python::OwnedRef gc = python::steal(found ? nullptr : PyImport_ImportModule("gc"));
    const python::OwnedRef values =
        python::steal(gc ? PyObject_CallMethod(gc.get(), "get_threshold", nullptr) : nullptr);
    int thresholds[3];
    if (values && PyArg_ParseTuple(
                      values.get(), "iii", &thresholds[0], &thresholds[1], &thresholds[2]) != 0) {
        found = cw_find_generations(thresholds) != 0;
    }
}

namespace {

// The memory of a scan: about 24 bytes per object.
struct ScanMemory {
    TrackedObjects candidates;
    UnreachableSearch search;
};

// Buffers that the next scan reuses. Obtaining the memory from the kernel again would take a sixth
// of the scan time. The memory is not kept if there were unusually many objects, or on
// free-threaded builds, where two threads may scan at the same time.
std::unique_ptr<ScanMemory>& kept_memory() {
    static std::unique_ptr<ScanMemory> kept;
    return kept;
}

std::unique_ptr<ScanMemory> take_memory() {
    if constexpr (!CYCLEWATCH_HAS_NO_GIL) {
        if (kept_memory() != nullptr) {
            return std::move(kept_memory());
        }
    }
    return std::make_unique<ScanMemory>();
}

void keep_memory(std::unique_ptr<ScanMemory> memory) {
    constexpr std::size_t kMostObjects = 1'000'000;
    if (!CYCLEWATCH_HAS_NO_GIL && memory->candidates.objects().size() <= kMostObjects) {
        kept_memory() = std::move(memory);
    }
}

// REQUIRES: the other threads are stopped.
void search(ScanMemory& memory, HeapScan& scan, HiddenReferences* hidden) {
    if (hidden != nullptr) {
        if (!hidden->has_arrays) {
            add_array_references(memory.candidates.objects(), *hidden);
        }
        for (PyObject* const object : hidden->untracked) {
            if (!memory.candidates.add(object)) {
                throw std::bad_alloc();
            }
        }
    }
    const std::span<PyObject* const> objects = memory.candidates.objects();
    memory.search.run(objects, hidden);
    memory.search.divide(hidden != nullptr ? objects.size() : memory.candidates.first_frozen(),
                         scan);
    if constexpr (CYCLEWATCH_HAS_NO_GIL) {
        scan.held.reserve(scan.collectable.objects().size());
        for (PyObject* object : scan.collectable.objects()) {
            scan.held.push_back(python::borrow(object));
        }
    }
}

}  // namespace

bool scan_heap(HeapScope scope, HeapScan& scan, HiddenReferences* hidden) noexcept {
    const python::ErrorStash stash;
    try {
        std::unique_ptr<ScanMemory> memory = take_memory();
        // On free-threaded builds, an attempt fails if other threads create objects while it runs.
        constexpr int kAttempts = CYCLEWATCH_HAS_NO_GIL ? 20 : 1;
        for (int i = 0; i < kAttempts; ++i) {
            // Clear these references before the search, which would otherwise count them. Do not
            // clear them while the other threads are stopped, because clearing may free objects.
            scan.held.clear();
            if (memory->candidates.fill_and(scope, [&] { search(*memory, scan, hidden); })) {
                keep_memory(std::move(memory));
                return true;
            }
        }
    } catch (...) {
        // Out of memory.
    }
    scan.collectable.clear();
    scan.frozen.clear();
    scan.held.clear();
    return false;
}

bool visit_reached_otherwise(std::span<PyObject* const> roots,
                             const std::function<void(PyObject*)>& visit) {
    if (kept_memory() == nullptr) {
        return false;
    }
    kept_memory()->search.visit_reached_otherwise(roots, visit);
    return true;
}

void release_scan_memory() noexcept {
    kept_memory().reset();
}

}  // namespace cyclewatch::collector
