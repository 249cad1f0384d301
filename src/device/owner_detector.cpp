// SPDX-License-Identifier: Apache-2.0
#include "device/owner_detector.h"

#include <algorithm>
#include <new>
#include <utility>

namespace cyclewatch::device {

void OwnerDetector::grow_outside() {
    std::vector<OutsideEntry> larger(outside_.empty() ? 1024 : outside_.size() * 2);
    const std::size_t mask = larger.size() - 1;
    for (const OutsideEntry& entry : outside_) {
        if (entry.round == round_) {
            std::size_t slot = hash_pointer(entry.object) & mask;
            while (larger[slot].round == round_) {
                slot = (slot + 1) & mask;
            }
            larger[slot] = entry;
        }
    }
    outside_ = std::move(larger);
    outside_mask_ = mask;
}

OwnerDetector::OutsideEntry& OwnerDetector::outside_entry(PyObject* object) {
    if (outside_count_ * 2 >= outside_.size()) {
        grow_outside();
    }
    for (std::size_t slot = hash_pointer(object) & outside_mask_;;
         slot = (slot + 1) & outside_mask_) {
        OutsideEntry& entry = outside_[slot];
        if (entry.round != round_) {
            entry = OutsideEntry{object, 0, round_};
            ++outside_count_;
            return entry;
        }
        if (entry.object == object) {
            return entry;
        }
    }
}

void OwnerDetector::hold(OutsideEntry& entry, std::vector<PyObject*>& list) {
    detection_->held.push_back(python::borrow(entry.object));
    ++entry.references;
    list.push_back(entry.object);
}

void OwnerDetector::count_reference(OutsideEntry& entry) {
    // If all references are known, no live object refers to it.
    if (static_cast<Py_ssize_t>(++entry.references) == Py_REFCNT(entry.object)) {
        hold(entry, dying_);
    }
}

void OwnerDetector::visit_target(PyObject* target) {
    PyTypeObject* const target_type = Py_TYPE(target);
    const TypeVerdict& type = types_.of(target_type);
    if (type.role == TypeRole::inert) {
        inert_type(target_type) = target_type;
        return;
    }
    if (type.traversal.has_gc_header(target) && unreachable_->contains(target)) {
        return;
    }
    if (outlives_set(target)) {
        return;
    }
    OutsideEntry& entry = outside_entry(target);
    if (entry.references == 0 && type.role == TypeRole::owner) {
        hold(entry, outside_owners_);
    }
    count_reference(entry);
}

bool OwnerDetector::visit_any(PyObject* target) noexcept {
    try {
        visit_target(target);
        return true;
    } catch (const std::bad_alloc&) {
        return false;
    }
}

// Executed for each reference of each unreachable object: the frequent cases need no verdict.
template <bool kHasFlags>
inline bool OwnerDetector::visit(PyObject* target) noexcept {
    if (target == nullptr) {
        return true;
    }
    PyTypeObject* const type = Py_TYPE(target);
    if (PyType_IS_GC(type) == 0) {
        if (inert_type(type) == type) {
            return true;
        }
    } else if (type->tp_is_gc == nullptr) {
        if (kHasFlags && cw_is_unreachable(target) != 0) {
            return true;
        }
        // An object outside the set that was counted before and does not die yet.
        OutsideEntry& entry = outside_[hash_pointer(target) & outside_mask_];
        if (entry.object == target && entry.round == round_) {
            const std::uint32_t references = entry.references + 1;
            if (static_cast<Py_ssize_t>(references) != Py_REFCNT(target)) {
                entry.references = references;
                return true;
            }
        }
    }
    return visit_any(target);
}

template <bool kHasFlags>
int OwnerDetector::visit_from_traverse(PyObject* target, void* self) noexcept {
    auto& detector = *static_cast<OwnerDetector*>(self);
    if (detector.visit<kHasFlags>(target)) [[likely]] {
        return 0;
    }
    detector.out_of_memory_ = true;
    return 1;
}

// The verdict on the type of `object`. If it is an owner, appends it to detection_->owners.
const TypeVerdict& OwnerDetector::recognise(PyObject* object) {
    const TypeVerdict& type = types_.of(Py_TYPE(object));
    if (type.role == TypeRole::owner) {
        detection_->owners.push_back({object, type.reader});
    } else {
        types_.remember(type);
    }
    return type;
}

template <bool kHasFlags>
[[gnu::always_inline]] inline void OwnerDetector::visit_references(PyObject* object) {
    const TypeVerdict* type = &types_.remembered(Py_TYPE(object));
    if (type->traversal.type() != Py_TYPE(object)) {
        type = &recognise(object);
    }
    const auto each = [this](PyObject* target) {
        if (!visit<kHasFlags>(target)) [[unlikely]] {
            throw std::bad_alloc();
        }
    };
    if (!type->traversal.visit_directly(object, each)) {
        type->traversal.traverse(object, visit_from_traverse<kHasFlags>, this);
        if (out_of_memory_) {
            throw std::bad_alloc();
        }
    }
}

template <bool kHasFlags, bool kPrefetch>
void OwnerDetector::visit_range(std::span<PyObject* const> objects) {
    constexpr std::size_t kAhead = 8;
    PyObject* const* const end = objects.data() + objects.size();
    PyObject* const* const prefetch_end = end - std::min(objects.size(), kAhead);
    for (PyObject* const* next = objects.data(); next != end; ++next) {
        if (kPrefetch && next < prefetch_end) {
            __builtin_prefetch(next[kAhead]);
        }
        visit_references<kHasFlags>(*next);
    }
}

template <bool kHasFlags>
void OwnerDetector::visit_all(std::span<PyObject* const> objects) {
    constexpr std::size_t kInCache = 4096;  // the collector has just visited them
    if (objects.size() <= kInCache) {
        visit_range<kHasFlags, false>(objects);
    } else {
        visit_range<kHasFlags, true>(objects);
    }
    // dying_ grows during the loop, because an object to which only a dying object refers also
    // dies.
    for (std::size_t i = 0; i < dying_.size(); ++i) {
        PyObject* const object = dying_[i];
        visit_range<kHasFlags, false>({&object, 1});
    }
}

// If a module stores its own output, the output's autograd graph refers to the module's parameters.
// These references are invisible to the collector, which treats the parameters as alive although
// they die with the module.
void OwnerDetector::add_externally_held_owners(Detection& detection) {
    for (PyObject* const object : outside_owners_) {
        OwnerReader* const reader = types_.of(Py_TYPE(object)).reader;
        const Py_ssize_t unknown = Py_REFCNT(object) - outside_entry(object).references;
        if (unknown > 0 && unknown == reader->hidden_references(object)) {
            detection.owners.push_back({object, reader});
            dying_.push_back(object);
        }
    }
}

void OwnerDetector::detect(const collector::UnreachableSet& unreachable,
                           OwnerRegistry& registry,
                           Detection& detection) {
    unreachable_ = &unreachable;
    detection_ = &detection;
    ++round_;
    outside_count_ = 0;
    if (outside_.empty()) {
        grow_outside();
    }
    types_.begin(registry);
    inert_types_.fill(nullptr);
    dying_.clear();
    outside_owners_.clear();
    out_of_memory_ = false;
    if (unreachable.has_flags()) {
        visit_all<true>(unreachable.objects());
    } else {
        visit_all<false>(unreachable.objects());
    }
    add_externally_held_owners(detection);
    if (!detection.owners.empty()) {
        detection.dependents = dying_;
    }
}

}  // namespace cyclewatch::device
