// SPDX-License-Identifier: Apache-2.0
// Visits the references that objects of a type own. Differs from tp_traverse in two ways.
// Plain instances and some builtin types are visited without calling tp_traverse, which is faster.
// References that are not included in reference counts are omitted (cyclewatch_counted_traverse()).
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

// Valid as long as the type exists and is not modified.
class TypeTraversal {
  public:
    TypeTraversal() = default;
    explicit TypeTraversal(PyTypeObject* type) noexcept
        : type_(type),
          traverse_(cyclewatch_counted_traverse(type)),
          may_have_gc_header_(PyType_IS_GC(type) != 0),
          has_gc_header_(may_have_gc_header_ && type->tp_is_gc == nullptr) {
        shape_ = shape_of(type);
    }

    [[nodiscard]] PyTypeObject* type() const noexcept { return type_; }

    // True if instances may have a GC header.
    [[nodiscard]] bool may_have_gc_header() const noexcept { return may_have_gc_header_; }
    // True if all instances have a GC header.
    [[nodiscard]] bool has_gc_header() const noexcept { return has_gc_header_; }
    // True if `object`, an instance of the type, has a GC header. For types with tp_is_gc, this
    // depends on the object.
    [[nodiscard]] bool has_gc_header(PyObject* object) const noexcept {
        return has_gc_header_ || (may_have_gc_header_ && PyObject_IS_GC(object) != 0);
    }

    // Calls kVisit(target, context) for each reference owned by `object`, an instance of the type.
    // The target may be null. kVisit may overwrite this TypeTraversal. If kVisit returns a nonzero
    // value, the remaining references may or may not be visited.
    template <visitproc kVisit>
    void visit(PyObject* object, void* context) const {
        PyTypeObject* const type = type_;
        const bool plain = is_plain();
        if (!visit_directly(object, [=](PyObject* target) { (void)kVisit(target, context); })) {
            traverse(object, kVisit, context);
        } else if (plain) {
            (void)kVisit(reinterpret_cast<PyObject*>(type), context);
        }
    }

    // True if visit_directly() omits each instance's reference to its type.
    [[nodiscard]] bool is_plain() const noexcept {
        return shape_ == Shape::values || shape_ == Shape::slots;
    }

    // Like visit(), but calls no function of the type, and omits a plain instance's reference to
    // its type. Returns false, and visits nothing, if traverse() must be called instead.
    template <typename Each>
    [[gnu::always_inline]] bool visit_directly(PyObject* object, Each&& each) const {
        switch (shape_) {
            case Shape::values:
                return visit_values(object, each);
            case Shape::slots:
                visit_slots(object, layout_, each);
                return true;
            case Shape::list:
                visit_array(
                    reinterpret_cast<PyListObject*>(object)->ob_item, Py_SIZE(object), each);
                return true;
            case Shape::tuple:
                visit_array(
                    reinterpret_cast<PyTupleObject*>(object)->ob_item, Py_SIZE(object), each);
                return true;
            case Shape::dict:
                return visit_dict(object, each);
            case Shape::fields:
                visit_array(
                    reinterpret_cast<PyObject**>(object) + fields_.first, fields_.count, each);
                return true;
            case Shape::set:
                visit_set(reinterpret_cast<PySetObject*>(object), each);
                return true;
            case Shape::frame:
                visit_frame(object, *frame_words_, each);
                return true;
            case Shape::none:
                return true;
            case Shape::other:
                return false;
        }
        __builtin_unreachable();
    }

    // Makes visit_directly() return false for plain instances, so that the caller uses traverse(),
    // which visits the reference to the type.
    void include_type() noexcept {
        if (is_plain()) {
            shape_ = Shape::other;
        }
    }

    // Calls the tp_traverse of the type.
    void traverse(PyObject* object, visitproc visit, void* context) const {
        if (has_gc_header(object)) {
            traverse_(object, visit, context);
        }
    }

  private:
    enum class Shape : std::uint8_t {
        none,    // no references
        values,  // a plain instance with an array of values, and possibly slots
        slots,   // a plain instance with slots only
        list,
        tuple,
        dict,    // cw_dict_entries()
        fields,  // cw_fields_of()
        set,     // or frozenset
        frame,
        other,  // only tp_traverse knows
    };

    // For a type with plain instances, also stores their layout in layout_.
    Shape shape_of(PyTypeObject* type) noexcept {
        if (traverse_ == nullptr || !may_have_gc_header_) {
            return Shape::none;
        }
        if (type == &PyList_Type) {
            return Shape::list;
        }
        if (type == &PyTuple_Type) {
            return Shape::tuple;
        }
        if (type == &PyDict_Type && cw_has_dict_entries() != 0) {
            return Shape::dict;
        }
        if (type == &PySet_Type || type == &PyFrozenSet_Type) {
            return Shape::set;
        }
        frame_words_ = type == &PyFrame_Type ? cyclewatch_words_of_frames() : nullptr;
        if (frame_words_ != nullptr) {
            return Shape::frame;
        }
        if (cw_fields_of(type, &fields_) != 0) {
            return Shape::fields;
        }
        if (cw_plain_layout_of(type, &layout_) == 0) {
            return Shape::other;
        }
        return layout_.value_count != nullptr ? Shape::values : Shape::slots;
    }

    template <typename Each>
    static void visit_array(PyObject* const* items, Py_ssize_t count, Each& each) {
        for (Py_ssize_t i = 0; i < count; ++i) {
            each(items[i]);
        }
    }

    template <typename Each>
    bool visit_values(PyObject* object, Each& each) const {
        Py_ssize_t count = 0;
        PyObject* const* const values = cw_plain_values(object, &layout_, &count);
        if (values == nullptr) {
            return false;
        }
        if (layout_.slot_count != 0) {
            visit_slots(object, layout_, each);
        }
        visit_array(values, count, each);
        return true;
    }

    template <typename Each>
    static bool visit_dict(PyObject* dict, Each& each) {
        Py_ssize_t count = 0;
        const cw_dict_entry* entry = cw_dict_entries(dict, &count);
        if (entry == nullptr) {
            return false;
        }
        for (const cw_dict_entry* const end = entry + count; entry != end; ++entry) {
            each(entry->value);
        }
        return true;
    }

    template <typename Each>
    static void visit_set(PySetObject* set, Each& each) {
        const setentry* const end = set->table + set->mask + 1;
        Py_ssize_t rest = set->used;
        for (const setentry* entry = set->table; rest > 0 && entry != end; ++entry) {
            if (entry->key != nullptr && entry->hash != -1) {  // -1: a removed element
                --rest;
                each(entry->key);
            }
        }
    }

    template <typename Each>
    [[gnu::always_inline]] static void visit_frame(PyObject* object,
                                                   const cyclewatch_frame_words& words,
                                                   Each& each) {
        visit_words(object, words.words, each);
        void* const inner = word_at<void*>(object, words.inner);
        if (word_at<char>(inner, words.owner) == words.owned) {
            visit_words(inner, words.inner_words, each);
            visit_array(
                &word_at<PyObject*>(inner, words.locals), word_at<int>(inner, words.count), each);
        }
    }

    template <typename Word>
    static Word& word_at(void* base, std::uint16_t offset) {
        return *reinterpret_cast<Word*>(static_cast<char*>(base) + offset);
    }

    // `offsets` ends with CYCLEWATCH_NO_WORD.
    template <typename Each>
    [[gnu::always_inline]] static void visit_words(void* base,
                                                   const std::uint16_t* offsets,
                                                   Each& each) {
        for (; *offsets != CYCLEWATCH_NO_WORD; ++offsets) {
            if (PyObject* const target = word_at<PyObject*>(base, *offsets)) {
                each(target);
            }
        }
    }

    // `layout` is a copy, because `each` may overwrite layout_.
    template <typename Each>
    static void visit_slots(PyObject* object, cw_plain_layout layout, Each& each) {
        for (int i = 0; i < layout.slot_count; ++i) {
            each(cw_plain_slot(object, &layout, i));
        }
    }

    PyTypeObject* type_ = nullptr;
    traverseproc traverse_ = nullptr;
    cw_plain_layout layout_{};
    const cyclewatch_frame_words* frame_words_ = nullptr;
    cw_fields fields_{};
    Shape shape_ = Shape::none;
    bool may_have_gc_header_ = false;
    bool has_gc_header_ = false;
};

// Caches the TypeTraversals of recently used types, because consecutive objects tend to have the
// same few types. Two types may have the same hash, so when a new type is stored in an entry, the
// previous content of the entry moves to the neighboring entry. Valid as long as no type is freed.
class TypeTraversals {
  public:
    const TypeTraversal& of(PyTypeObject* type) noexcept {
        const auto address = reinterpret_cast<std::uintptr_t>(type);
        const std::size_t at = ((address * 0x9e3779b97f4a7c15ULL) >> 32) % known_.size();
        TypeTraversal& first = known_[at];
        TypeTraversal& second = known_[at ^ 1U];
        if (first.type() == type) {
            return first;
        }
        if (second.type() != type) {
            second = first;
            first = TypeTraversal(type);
            return first;
        }
        return second;
    }

  private:
    std::array<TypeTraversal, 64> known_;
};

}  // namespace cyclewatch::python
