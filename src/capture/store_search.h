// SPDX-License-Identifier: Apache-2.0
// Searches the bytecode of functions for instructions that store one attribute.
//
// REQUIRES: GIL held, inside CollectionListener::on_unreachable(). RUNS PYTHON: never. Creates no
// Python objects. May throw std::bad_alloc.
#pragma once

#include <Python.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "bytecode/attribute_stores.h"
#include "model/reference_graph.h"

namespace cyclewatch::capture {

// The line that stores an attribute, and the origin of the value.
struct StoreSite {
    std::string path;        // "" if unknown
    std::string base;        // the holder's base class that contains the store; "" if none
    std::uint32_t line = 0;  // 0 if unknown
    model::ColumnRange columns;
    model::ValueOrigin value = model::ValueOrigin::unknown;
    bool by_holder = false;              // a method of the holder's class stores it on `self`
    bool is_generated = false;           // in generated code; `path` and `line` locate the class
    bool in_dict = false;                // in the instance's `__dict__`, so no setter is called
    bool holder_made_by_target = false;  // methods of the target's class create the holder

    [[nodiscard]] bool is_known() const noexcept {
        return line != 0 || value != model::ValueOrigin::unknown || holder_made_by_target;
    }
};

// The first of several stores, and whether the stores are on different lines.
struct FirstStore {
    StoreSite site;
    bool is_ambiguous = false;  // another store is on a different line

    [[nodiscard]] bool is_found() const noexcept { return site.line != 0; }
    void add(const StoreSite& store, bool ambiguous = false);
};

// Finds the stores of one kind to one attribute, in a function and its nested functions.
class StoreSearch {
  public:
    // `target` is the class of the attribute's value.
    StoreSearch(std::string_view name,
                PyCodeObject* function,
                PyTypeObject* target,
                bytecode::StoreKind kind = bytecode::StoreKind::named);

    FirstStore on_self;      // on the first parameter
    FirstStore on_other;     // on anything else
    FirstStore on_variable;  // those of `on_other` that are on a plain variable

  private:
    void search(PyCodeObject* code, int depth);
    [[nodiscard]] bool may_store(PyCodeObject* code,
                                 const bytecode::AttributeName& attribute) const;
    [[nodiscard]] bool is_wanted(const bytecode::AttributeStore& store) const;
    void add(PyCodeObject* code, int depth, const bytecode::AttributeStore& store, int offset);

    std::string_view name_;
    PyTypeObject* target_;
    bytecode::StoreKind kind_;
    PyObject* self_;
};

// Finds the stores to an attribute in functions outside the holder's class. If the stores are on
// several lines, the line of the result is unknown, and the value counts as passed in
// (ValueOrigin::taken).
class ForeignStores {
  public:
    // If `on_variables` is true, considers only attributes of plain variables, so that a store such
    // as `module.__class__.forward = ...` is ignored.
    ForeignStores(std::string_view name,
                  PyTypeObject* target,
                  bool on_variables = false,
                  bytecode::StoreKind kind = bytecode::StoreKind::named)
        : name_(name), target_(target), on_variables_(on_variables), kind_(kind) {}

    void search(PyCodeObject* code, bool is_method);
    // Searches the methods of `type` and its bases. If `is_foreign` is true, also considers stores
    // to the first parameter of a method.
    void search_class(PyTypeObject* type, bool is_foreign = false);
    // Searches the functions of a module and the methods of its classes. `globals` is the module's
    // namespace, or null.
    void search_module(PyObject* globals);
    // Searches the methods of `type`, the holder's class, for calls to helpers. A helper is a
    // function or static method that reads `f_locals`, or that receives `self` as its first
    // argument and stores the attribute on it. A helper that reads `f_locals` counts only if the
    // method has a parameter with the name of the attribute. The resulting site is the call to the
    // helper.
    void search_helpers(PyTypeObject* type);
    [[nodiscard]] StoreSite result() const;

  private:
    void add(const FirstStore& store);
    void search_calls(PyTypeObject* type, PyObject* helper, PyCodeObject* code);

    std::string_view name_;
    PyTypeObject* target_;
    bool on_variables_;
    bytecode::StoreKind kind_;
    FirstStore found_;
    bool gives_itself_ = false;  // a method stores its own object
};

}  // namespace cyclewatch::capture
