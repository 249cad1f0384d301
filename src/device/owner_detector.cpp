// SPDX-License-Identifier: Apache-2.0
#include "device/owner_detector.h"

#include <algorithm>
#include <new>

namespace cyclewatch::device {
namespace {

std::size_t hash_pointer(const void* pointer) noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(pointer) >> 4;
    return address ^ (address >> 9);
}

}  // namespace

OwnerDetector::TypeEntry OwnerDetector::classify(PyTypeObject* type) const noexcept {
    TypeEntry entry;
    entry.traversal = python::TypeTraversal(type);
    entry.round = round_;
    entry.reader = registry_->reader_for(type);
    if (entry.reader != nullptr) {
        entry.role = TypeRole::owner;
    } else if (entry.traversal.may_have_gc_header()) {
        entry.role = TypeRole::container;
    }
    return entry;
}

const OwnerDetector::TypeEntry& OwnerDetector::type_entry(PyTypeObject* type) noexcept {
    if (latest_type_->traversal.type() == type) {
        return *latest_type_;
    }
    TypeEntry& entry = types_[hash_pointer(type) % types_.size()];
    if (entry.traversal.type() != type || entry.round != round_) {
        entry = classify(type);
    }
    latest_type_ = &entry;
    return entry;
}

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
}

OwnerDetector::OutsideEntry& OwnerDetector::outside_entry(PyObject* object) {
    if (outside_count_ * 2 >= outside_.size()) {
        grow_outside();
    }
    const std::size_t mask = outside_.size() - 1;
    for (std::size_t slot = hash_pointer(object) & mask;; slot = (slot + 1) & mask) {
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
    if (target == latest_) {
        count_reference(*latest_entry_);
        return;
    }
    const TypeEntry& type = type_entry(Py_TYPE(target));
    if (type.role == TypeRole::inert) {
        return;
    }
    if (type.traversal.has_gc_header(target) && unreachable_->contains(target)) {
        return;
    }
    OutsideEntry& entry = outside_entry(target);
    if (entry.references == 0 && type.role == TypeRole::owner) {
        hold(entry, outside_owners_);
    }
    latest_ = target;
    latest_entry_ = &entry;
    count_reference(entry);
}

int OwnerDetector::visit(PyObject* target, void* self) noexcept {
    auto& detector = *static_cast<OwnerDetector*>(self);
    if (target == nullptr) {
        return 0;
    }
    // Called for every reference of the unreachable set. No lookup is needed for the two most
    // frequent targets: the most recently counted outside object, and an object in the set with the
    // most recent type.
    if (target == detector.latest_) {
        if (static_cast<Py_ssize_t>(++detector.latest_entry_->references) != Py_REFCNT(target)) {
            return 0;
        }
        --detector.latest_entry_->references;
    } else if (const python::TypeTraversal& latest = detector.latest_type_->traversal;
               Py_TYPE(target) == latest.type() && latest.has_gc_header() &&
               detector.unreachable_->contains(target)) {
        return 0;
    }
    try {
        detector.visit_target(target);
        return 0;
    } catch (const std::bad_alloc&) {
        detector.out_of_memory_ = true;
        return 1;
    }
}

void OwnerDetector::visit_references(PyObject* object, const TypeEntry& type) {
    type.traversal.visit<visit>(object, this);
    if (out_of_memory_) {
        throw std::bad_alloc();
    }
}

// If a module stores its own output, the output's autograd graph refers to the module's parameters.
// These references are invisible to the collector, which treats the parameters as alive although
// they die with the module.
void OwnerDetector::add_externally_held_owners(Detection& detection) {
    for (PyObject* const object : outside_owners_) {
        OwnerReader* const reader = type_entry(Py_TYPE(object)).reader;
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
    registry_ = &registry;
    detection_ = &detection;
    ++round_;
    outside_count_ = 0;
    latest_ = nullptr;
    types_[0] = {};
    latest_type_ = types_.data();
    dying_.clear();
    outside_owners_.clear();
    out_of_memory_ = false;
    const std::span<PyObject* const> objects = unreachable.objects();
    for (std::size_t i = 0; i < objects.size(); ++i) {
        __builtin_prefetch(objects[std::min(i + 8, objects.size() - 1)]);
        PyObject* const object = objects[i];
        const TypeEntry& type = type_entry(Py_TYPE(object));
        if (type.role == TypeRole::owner) {
            detection.owners.push_back({object, type.reader});
        }
        visit_references(object, type);
    }
    // dying_ may grow during the loop, because an object to which only a dying object refers also
    // dies.
    for (std::size_t i = 0; i < dying_.size(); ++i) {
        const TypeEntry& type = type_entry(Py_TYPE(dying_[i]));
        if (type.role == TypeRole::owner) {
            detection.owners.push_back({dying_[i], type.reader});
        }
        visit_references(dying_[i], type);
    }
    add_externally_held_owners(detection);
    if (!detection.owners.empty()) {
        detection.dependents = dying_;
    }
}

}  // namespace cyclewatch::device
