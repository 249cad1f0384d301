// SPDX-License-Identifier: Apache-2.0
#include "device/owner_detector.h"

#include <algorithm>
#include <limits>
#include <new>
#include <utility>

namespace cyclewatch::device {

OwnerDetector::OutsideEntry& OwnerDetector::find_outside(PyObject* object) noexcept {
    OutsideEntry* entry = &first_slot(object);
    while (entry->object != nullptr && entry->object != object) {
        ++entry;
        if (entry == outside_.data() + outside_.size()) {
            entry = outside_.data();
        }
    }
    return *entry;
}

void OwnerDetector::add_outside(OutsideEntry& unused,
                                PyObject* object,
                                std::int32_t unknown) noexcept {
    unused = OutsideEntry{object, unknown, last_outside_};
    last_outside_ = static_cast<std::uint32_t>(&unused - outside_.data());
    ++outside_count_;
}

// Takes time proportional to the number of entries, not to the number of slots. In most
// collections, there are few entries.
void OwnerDetector::clear_outside() noexcept {
    for (std::uint32_t slot = last_outside_; slot != kNoEntry;) {
        slot = std::exchange(outside_[slot], OutsideEntry{}).next;
    }
    last_outside_ = kNoEntry;
    outside_count_ = 0;
}

void OwnerDetector::grow_outside() {
    std::vector<OutsideEntry> larger(outside_.empty() ? 1024 : outside_.size() * 2);
    outside_.swap(larger);
    outside_mask_ = (outside_.size() - 1) * sizeof(OutsideEntry);
    last_outside_ = kNoEntry;
    outside_count_ = 0;
    for (const OutsideEntry& entry : larger) {
        if (entry.object != nullptr) {
            add_outside(find_outside(entry.object), entry.object, entry.unknown);
        }
    }
}

OwnerDetector::OutsideEntry& OwnerDetector::outside_entry(PyObject* object) {
    OutsideEntry* entry = &find_outside(object);
    if (entry->object == nullptr) {
        if ((outside_count_ + 1) * std::size_t{2} > outside_.size()) {
            grow_outside();
            entry = &find_outside(object);
        }
        // The reference count read here remains valid, because only hold() changes reference counts
        // during the search, and hold() is called only after the entry has been created.
        constexpr Py_ssize_t kMost = std::numeric_limits<std::int32_t>::max();
        add_outside(*entry, object, static_cast<std::int32_t>(std::min(Py_REFCNT(object), kMost)));
    }
    return *entry;
}

void OwnerDetector::hold(PyObject* object, std::vector<PyObject*>& list) {
    detection_->held.push_back(python::borrow(object));
    list.push_back(object);
}

bool OwnerDetector::add_dying(PyObject* object) noexcept {
    try {
        hold(object, dying_);
        return true;
    } catch (const std::bad_alloc&) {
        return false;
    }
}

void OwnerDetector::visit_target(PyObject* target) {
    PyTypeObject* const target_type = Py_TYPE(target);
    const TypeVerdict& type = types_.of(target_type);
    if (type.role == TypeRole::inert) {
        inert_type(target_type) = target_type;
        return;
    }
    const bool may_be_unreachable =
        type.traversal.has_gc_header(target) || !unreachable_->has_flags();
    if (may_be_unreachable && unreachable_->contains(target)) {
        return;
    }
    if (outlives_set(target)) {
        return;
    }
    const std::uint32_t count = outside_count_;
    OutsideEntry& entry = outside_entry(target);
    if (outside_count_ != count && type.role == TypeRole::owner) {
        hold(target, outside_owners_);
    }
    if (--entry.unknown == 0) {
        hold(target, dying_);
    }
}

bool OwnerDetector::visit_any(PyObject* target) noexcept {
    try {
        visit_target(target);
        return true;
    } catch (const std::bad_alloc&) {
        return false;
    }
}

// This runs for each reference of each unreachable object, so it handles the frequent cases without
// looking up the verdict on the target's type.
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
        // A target that already has an entry is outside the set, and only its count changes.
        OutsideEntry& entry = first_slot(target);
        if (entry.object == target) {
            return --entry.unknown != 0 || add_dying(target);
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

// The verdict on the type of `object`. If `object` is an owner, appends it to detection_->owners:
// the verdict on an owner's type is not remembered, so that each owner comes here.
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
    // dying_ grows during the loop, because an object to which only dying objects refer also dies.
    for (std::size_t i = 0; i < dying_.size(); ++i) {
        PyObject* const object = dying_[i];
        visit_range<kHasFlags, false>({&object, 1});
    }
}

// If a torch module stores its own output, the output's autograd graph refers to the module's
// parameters. These references are invisible to the collector, which treats the parameters as alive
// although they die with the module.
void OwnerDetector::add_externally_held_owners(Detection& detection) {
    for (PyObject* const object : outside_owners_) {
        OwnerReader* const reader = types_.of(Py_TYPE(object)).reader;
        const Py_ssize_t unknown = find_outside(object).unknown;
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
    clear_outside();
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
