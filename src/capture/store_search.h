// SPDX-License-Identifier: Apache-2.0
// Searches the instructions of functions for the stores of one attribute.
//
// REQUIRES: GIL held, inside CollectionListener::on_unreachable(). RUNS PYTHON: never. Creates no
// Python object at all. May throw std::bad_alloc.
#pragma once

#include <Python.h>

#include <cstdint>
#include <string_view>

#include "compat/attribute_stores.h"
#include "model/reference_graph.h"

namespace cyclewatch::capture {

// A store in some function; no code: none was found that has a file.
struct AttributeStore {
    PyCodeObject* code = nullptr;
    std::uint32_t line = 0;
    model::ValueOrigin value = model::ValueOrigin::unknown;
    bool on_self = false;  // on the first parameter of a method of the holder
};

// The stores of one attribute in the code of one function and of those within it.
class StoreSearch {
  public:
    // `target`: the class of what the attribute refers to.
    StoreSearch(std::string_view name, PyCodeObject* function, PyTypeObject* target);

    AttributeStore on_self;       // the first on the first parameter
    AttributeStore on_other;      // the first on anything else
    bool several_others = false;  // there are more of these, on other lines
    AttributeStore on_variable;   // the first of these on a plain variable
    bool several_variables = false;

  private:
    struct Visit;

    void look_into(PyCodeObject* code, int depth);
    void note(PyCodeObject* code, int depth, const cyclewatch_store& store) noexcept;

    std::string_view name_;
    PyTypeObject* target_;
    PyObject* self_;
};

// Stores on objects of another class than the code's own. Of several it could be any: then no place
// is told, but that none of them made the value for its holder still is.
class ForeignStores {
  public:
    // `on_variables`: only stores on plain variables count, not `module.__class__.forward = ...`.
    ForeignStores(std::string_view name, PyTypeObject* target, bool on_variables = false)
        : name_(name), target_(target), on_variables_(on_variables) {}

    void look_into(PyCodeObject* code, bool is_method);
    void look_into_methods(PyTypeObject* type);
    [[nodiscard]] AttributeStore result() const;

  private:
    void note(const AttributeStore& store, bool several);

    std::string_view name_;
    PyTypeObject* target_;
    bool on_variables_;
    AttributeStore found_;
    bool several_ = false;
    bool by_itself_ = false;  // a method stores its own object
};

}  // namespace cyclewatch::capture
