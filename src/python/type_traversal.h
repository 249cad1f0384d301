// SPDX-License-Identifier: Apache-2.0
// How the references that one type's objects own are visited: as tp_traverse does, but faster where
// the objects are plain instances, and without what tp_traverse shows and nobody counted.
//
// REQUIRES (everything here): GIL held. RUNS PYTHON: never. ALLOCATES: no.
#pragma once

#include <Python.h>

#include "compat/frame_access.h"
#include "compat/plain_instance.h"

namespace cyclewatch::python {

// Holds as long as the type.
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

    // Some of its objects may be known to the collector.
    [[nodiscard]] bool may_have_gc_header() const noexcept { return may_have_gc_header_; }
    // All of them are.
    [[nodiscard]] bool has_gc_header() const noexcept { return has_gc_header_; }
    // `object`, which is of the type, is: of a few types it depends on the object.
    [[nodiscard]] bool has_gc_header(PyObject* object) const noexcept {
        return has_gc_header_ || (may_have_gc_header_ && PyObject_IS_GC(object) != 0);
    }

    // kVisit(target, context) for each reference that `object`, which is of the type, owns; the
    // target may be null. kVisit may overwrite this traversal. Once it returns anything but 0,
    // the rest may be visited or not.
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

    // `layout` by value: kVisit may overwrite ours.
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

}  // namespace cyclewatch::python
