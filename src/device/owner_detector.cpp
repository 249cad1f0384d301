// SPDX-License-Identifier: Apache-2.0
#include "device/owner_detector.h"

#include <new>

namespace cyclewatch::device {
namespace {

std::size_t hash_pointer(const void* pointer) noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(pointer) >> 4;
    return address ^ (address >> 9);
}

bool has_gc_header(PyObject* object, bool asks_instance) noexcept {
    return asks_instance ? PyObject_IS_GC(object) != 0 : PyType_IS_GC(Py_TYPE(object)) != 0;
}

}  // namespace

OwnerDetector::TypeEntry OwnerDetector::judge(PyTypeObject* type) const noexcept {
    TypeEntry entry;
    entry.type = type;
    entry.round = round_;
    entry.reader = registry_->reader_for(type);
    entry.asks_instance = type->tp_is_gc != nullptr;
    if (entry.reader != nullptr) {
        entry.verdict = Verdict::owner;
    } else if (PyType_IS_GC(type) != 0) {
        entry.verdict = Verdict::container;
    }
    return entry;
}

const OwnerDetector::TypeEntry& OwnerDetector::type_entry(PyTypeObject* type) noexcept {
    TypeEntry& entry = types_[hash_pointer(type) % types_.size()];
    if (entry.type != type || entry.round != round_) {
        entry = judge(type);
    }
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

void OwnerDetector::count_reference(PyObject* target) {
    const TypeEntry& type = type_entry(Py_TYPE(target));
    if (type.verdict == Verdict::inert) {
        return;
    }
    if (has_gc_header(target, type.asks_instance) && condemned_->contains(target)) {
        return;
    }
    OutsideEntry& entry = outside_entry(target);
    // Once every reference to it is accounted for, nothing alive holds it: it dies too.
    if (static_cast<Py_ssize_t>(++entry.references) == Py_REFCNT(target)) {
        dying_.push_back(target);
    }
}

int OwnerDetector::visit(PyObject* target, void* self) noexcept {
    auto& detector = *static_cast<OwnerDetector*>(self);
    try {
        if (target != nullptr) {
            detector.count_reference(target);
        }
        return 0;
    } catch (const std::bad_alloc&) {
        detector.out_of_memory_ = true;
        return 1;
    }
}

bool OwnerDetector::visit_references(PyObject* object) noexcept {
    const traverseproc traverse = Py_TYPE(object)->tp_traverse;
    if (traverse != nullptr && PyObject_IS_GC(object) != 0) {
        traverse(object, visit, this);
    }
    return !out_of_memory_;
}

void OwnerDetector::detect(const collector::CondemnedSet& condemned,
                           const OwnerRegistry& registry, Detection& detection) {
    condemned_ = &condemned;
    registry_ = &registry;
    ++round_;
    outside_count_ = 0;
    dying_.clear();
    out_of_memory_ = false;
    for (PyObject* object : condemned.objects()) {
        const TypeEntry& type = type_entry(Py_TYPE(object));
        if (type.verdict == Verdict::owner) {
            detection.owners.push_back({object, type.reader});
        }
        if (!visit_references(object)) {
            throw std::bad_alloc();
        }
    }
    // dying_ grows while it is walked: what a dying object alone holds dies as well.
    for (std::size_t i = 0; i < dying_.size(); ++i) {
        const TypeEntry& type = type_entry(Py_TYPE(dying_[i]));
        if (type.verdict == Verdict::owner) {
            detection.owners.push_back({dying_[i], type.reader});
        }
        if (!visit_references(dying_[i])) {
            throw std::bad_alloc();
        }
    }
    if (!detection.owners.empty()) {
        detection.dependents = dying_;
    }
}

}  // namespace cyclewatch::device
