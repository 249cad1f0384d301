// SPDX-License-Identifier: Apache-2.0
// Visits the references that objects of a type own, like tp_traverse, with two differences: plain
// instances are visited without calling tp_traverse, which is faster, and references without a
// reference count (cyclewatch_counted_traverse()) are omitted.
//
// REQUIRES (everything here): GIL held. RUNS PYTHON: never. ALLOCATES: no.
#pragma once

#include <Python.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "compat/frame_access.h"
#include "compat/plain_instance.h"

namespace cyclewatch::python {

// Valid for the lifetime of the type.
class TypeTraversal {
  public:
    TypeTraversal() = default;
    explicit TypeTraversal(PyTypeObject* type) noexcept
        : type_(type),
          traverse_(cyclewatch_counted_traverse(type)),
          is_plain_(PyType_IS_GC(type) != 0 && cw_plain_layout_of(type, &layout_) != 0),
          may_have_gc_header_(PyType_IS_GC(type) != 0),
          has_gc_header_(may_have_gc_header_ && type->tp_is_gc == nullptr) {}

    [[nodiscard]] PyTypeObject* type() const noexcept { return type_; }

    // True if instances may have a GC header.
    [[nodiscard]] bool may_have_gc_header() const noexcept { return may_have_gc_header_; }
    // True if all instances have one.
    [[nodiscard]] bool has_gc_header() const noexcept { return has_gc_header_; }
    // True if `object`, an instance of the type, has one. Types with tp_is_gc decide per object.
    [[nodiscard]] bool has_gc_header(PyObject* object) const noexcept {
        return has_gc_header_ || (may_have_gc_header_ && PyObject_IS_GC(object) != 0);
    }

    // Calls kVisit(target, context) for each reference owned by `object`, an instance of the type.
    // The target may be null. kVisit may overwrite this TypeTraversal. If it returns a nonzero
    // value, the remaining references may or may not be visited.
    template <visitproc kVisit>
    void visit(PyObject* object, void* context) const {
        PyTypeObject* const type = type_;
        if (!is_plain_ || !visit_plain<kVisit>(object, context)) {
            if (traverse_ != nullptr && has_gc_header(object)) {
                traverse_(object, kVisit, context);
            }
        } else {
            (void)kVisit(reinterpret_cast<PyObject*>(type), context);
        }
    }

  private:
    template <visitproc kVisit>
    bool visit_plain(PyObject* object, void* context) const {
        if (layout_.value_count == nullptr) {
            visit_slots<kVisit>(object, layout_, context);
            return true;
        }
        PyObject** const values = cw_plain_values(object);
        if (values == nullptr) {
            return false;
        }
        const Py_ssize_t count = *layout_.value_count;
        if (layout_.slot_count != 0) {
            visit_slots<kVisit>(object, layout_, context);
        }
        for (Py_ssize_t i = 0; i < count; ++i) {
            (void)kVisit(values[i], context);
        }
        return true;
    }

    // `layout` is a copy, because kVisit may overwrite layout_.
    template <visitproc kVisit>
    static void visit_slots(PyObject* object, cw_plain_layout layout, void* context) {
        for (int i = 0; i < layout.slot_count; ++i) {
            (void)kVisit(cw_plain_slot(object, &layout, i), context);
        }
    }

    PyTypeObject* type_ = nullptr;
    traverseproc traverse_ = nullptr;
    cw_plain_layout layout_{};
    bool is_plain_ = false;
    bool may_have_gc_header_ = false;
    bool has_gc_header_ = false;
};

// A cache, because consecutive objects have few types. Valid as long as no type is freed.
class TypeTraversals {
  public:
    const TypeTraversal& of(PyTypeObject* type) noexcept {
        const auto address = reinterpret_cast<std::uintptr_t>(type);
        TypeTraversal& known = known_[((address * 0x9e3779b97f4a7c15ULL) >> 32) % known_.size()];
        if (known.type() != type) {
            known = TypeTraversal(type);
        }
        return known;
    }

  private:
    std::array<TypeTraversal, 64> known_;
};

}  // namespace cyclewatch::python
