// SPDX-License-Identifier: Apache-2.0
// Finds the instructions that store or read an attribute, without running the code. Requirements
// and lifetimes: as instructions.h.
#pragma once

#include <Python.h>

#include <optional>

#include "bytecode/operand_stack.h"

namespace cyclewatch::bytecode {

// An attribute name as it occurs in a code object. `number` is its index in co_names, or -1.
// `constant` is the string constant that contains the name, as in `setattr(object, "name", value)`,
// or null.
struct AttributeName {
    Py_ssize_t number = -1;
    PyObject* constant = nullptr;
};

enum class StoreKind : unsigned char {
    named,     // object.name = value, setattr(object, "name", value)
    by_call,   // function(object, "name", value), which may set the attribute
    computed,  // setattr(object, expression, value), which may set the attribute
    into,      // object.name.append(value), object.name[key] = value
};

// One store of an attribute, such as `object.name = value`. In `object.name[key] = value`, `key` is
// treated as the stored value if it is the first parameter (usually `self`) of the function.
struct AttributeStore {
    StoreKind kind = StoreKind::named;
    int variable = -1;     // the variable that holds the object; -1: unknown
    Operand value;         // the stored value
    bool in_dict = false;  // object.__dict__["name"] = value, which calls no setter
};

// The store that the instruction `at` performs, if any. `name` is the attribute's item in co_names,
// or null.
[[nodiscard]] std::optional<AttributeStore> store_at(const OperandStack& stack,
                                                     const Instruction& at,
                                                     const AttributeName& attribute,
                                                     PyObject* name) noexcept;

// The item of co_names; null if there is none.
[[nodiscard]] PyObject* name_of(PyCodeObject* code, const AttributeName& attribute) noexcept;

// Calls visit(store, offset) for the stores of one attribute in the order of the instructions,
// until visit() returns true. Returns whether it did. `offset` is a byte offset in the code, for
// cyclewatch_line_at(). Stores include calls to setattr(), object.__setattr__() and other functions
// that may set the attribute, as well as stores into the `__dict__` of a variable or into the
// container to which the attribute refers.
template <typename Visit>
bool visit_stores(PyCodeObject* code, const AttributeName& attribute, Visit&& visit) {
    PyObject* const name = name_of(code, attribute);
    return visit_operands(code, [&](const OperandStack& stack, const Instruction& at) {
        const std::optional<AttributeStore> store = store_at(stack, at, attribute, name);
        return store && visit(*store, at.offset());
    });
}

// True if an instruction stores attribute number `name`, as in `object.name = value`.
[[nodiscard]] bool stores_attribute(PyCodeObject* code, Py_ssize_t name) noexcept;

// The name of the attribute that instruction `index` stores, as in `object.name = value`; null if
// it stores none.
[[nodiscard]] PyObject* stored_attribute(PyCodeObject* code, Py_ssize_t index) noexcept;

// True if the instruction `at` loads attribute number `name`, unless the loaded value is called
// immediately.
[[nodiscard]] bool reads_attribute(const Instruction& at, Py_ssize_t name) noexcept;

// Calls visit(of_attribute, offset) for each instruction that loads attribute number `name` without
// calling it, as in `hooks.append(self.on_step)`. `of_attribute` is true if the object that has the
// attribute is itself an attribute of a variable, as in `self.child.name`.
template <typename Visit>
void visit_reads(PyCodeObject* code, Py_ssize_t name, Visit&& visit) {
    visit_operands(code, [&](const OperandStack& stack, const Instruction& at) {
        if (reads_attribute(at, name)) {
            visit(stack.at(0).of_variable >= 0, at.offset());
        }
        return false;
    });
}

}  // namespace cyclewatch::bytecode
