// SPDX-License-Identifier: Apache-2.0
#include "bytecode/attribute_stores.h"

#include <opcode.h>

#include <algorithm>
#include <array>

#include "compat/features.h"

namespace cyclewatch::bytecode {
namespace {

bool has_name(const Operand& value, const char* name) noexcept {
    return value.name != nullptr && PyUnicode_CompareWithASCIIString(value.name, name) == 0;
}

// True if the stack contains the operands of `function(object, "name", value)`. The three arguments
// are on top of the stack, and the function is below them, possibly with one word in between.
bool calls(const OperandStack& stack, const char* function) noexcept {
    return has_name(stack.at(3), function) || has_name(stack.at(4), function);
}

// A call with three arguments that may store the attribute.
std::optional<AttributeStore> store_by_call(const OperandStack& stack,
                                            PyObject* constant) noexcept {
    const bool is_setter = calls(stack, "setattr") || calls(stack, "__setattr__");
    PyObject* const second = stack.at(1).constant;
    AttributeStore store{StoreKind::computed, stack.variable_at(2), stack.at(0)};
    if (constant != nullptr && second == constant) {
        store.kind = is_setter ? StoreKind::named : StoreKind::by_call;
        return is_setter || !calls(stack, "getattr") ? std::optional(store) : std::nullopt;
    }
    return is_setter && second == nullptr ? std::optional(store) : std::nullopt;
}

// `container[key] = value`
std::optional<AttributeStore> store_of_item(const OperandStack& stack,
                                            PyObject* constant,
                                            PyObject* name) noexcept {
    const Operand key = stack.at(0);
    const Operand container = stack.at(1);
    if (constant != nullptr && key.constant == constant && has_name(container, "__dict__")) {
        return AttributeStore{StoreKind::named, container.of_variable, stack.at(2), true};
    }
    if (name == nullptr || container.name != name) {
        return std::nullopt;
    }
    return AttributeStore{
        StoreKind::into, container.of_variable, key.variable == 0 ? key : stack.at(2)};
}

// `container.append(value)`, `container.insert(index, value)`
std::optional<AttributeStore> insertion(const OperandStack& stack,
                                        const Instruction& at,
                                        PyObject* name) noexcept {
    constexpr std::array kMethods{"append", "add", "appendleft", "insert", "setdefault"};
    const Operand container = stack.at(at.argument);
    const Operand method = stack.at(at.argument + 1);
    if (name == nullptr || container.name != name ||
        std::ranges::none_of(kMethods, [&](const char* each) { return has_name(method, each); })) {
        return std::nullopt;
    }
    return AttributeStore{StoreKind::into, container.of_variable, stack.at(0)};
}

}  // namespace

std::optional<AttributeStore> store_at(const OperandStack& stack,
                                       const Instruction& at,
                                       const AttributeName& attribute,
                                       PyObject* name) noexcept {
    switch (at.opcode) {
        case STORE_ATTR:
            return at.argument == attribute.number
                       ? std::optional(
                             AttributeStore{StoreKind::named, stack.variable_at(0), stack.at(1)})
                       : std::nullopt;
        case STORE_SUBSCR:
            return store_of_item(stack, attribute.constant, name);
        case CALL:
            return at.argument == 3                       ? store_by_call(stack, attribute.constant)
                   : at.argument == 1 || at.argument == 2 ? insertion(stack, at, name)
                                                          : std::nullopt;
        default:
            return std::nullopt;
    }
}

PyObject* name_of(PyCodeObject* code, const AttributeName& attribute) noexcept {
    return attribute.number >= 0 && attribute.number < PyTuple_GET_SIZE(code->co_names)
               ? PyTuple_GET_ITEM(code->co_names, attribute.number)
               : nullptr;
}

bool stores_attribute(PyCodeObject* code, Py_ssize_t name) noexcept {
    const Bytecode bytecode(code);
    Instruction at;
    while (bytecode.advance(at)) {
        if (at.opcode == STORE_ATTR && at.argument == name) {
            return true;
        }
    }
    return false;
}

PyObject* stored_attribute(PyCodeObject* code, Py_ssize_t index) noexcept {
    const Bytecode bytecode(code);
    Instruction at;
    while (bytecode.advance(at)) {
        if (at.index >= index) {
            const bool is_store = at.index == index && at.opcode == STORE_ATTR;
            return is_store ? name_of(code, {.number = at.argument}) : nullptr;
        }
    }
    return nullptr;
}

bool reads_attribute(const Instruction& at, Py_ssize_t name) noexcept {
    // Unless LOAD_METHOD exists, the lowest bit is set for method calls.
    return at.opcode == LOAD_ATTR && at.argument == (CYCLEWATCH_HAS_LOAD_METHOD ? name : 2 * name);
}

}  // namespace cyclewatch::bytecode
