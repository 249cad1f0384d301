// SPDX-License-Identifier: Apache-2.0
#include "bytecode/operand_stack.h"

#include <opcode.h>

#include <algorithm>

#include "compat/code_names.h"
#include "compat/features.h"

namespace cyclewatch::bytecode {
namespace {

std::uint32_t bit(int variable) noexcept {
    return variable >= 0 && variable < kTrackedVariables ? std::uint32_t{1} << variable : 0;
}

bool names_keywords(int opcode) noexcept {
#ifdef CALL_KW
    return opcode == CALL_KW;
#else
    static_cast<void>(opcode);
    return false;
#endif
}

// code.replace() may create code whose instructions use indices beyond the end of its tuples.
PyObject* item_or(PyObject* tuple, int index, PyObject* otherwise) noexcept {
    return index < PyTuple_GET_SIZE(tuple) ? PyTuple_GET_ITEM(tuple, index) : otherwise;
}

// True for instructions that neither push nor pop a value.
bool keeps_stack(int opcode) noexcept {
    switch (opcode) {
        case NOP:
        case RESUME:
        case EXTENDED_ARG:
#ifdef NOT_TAKEN
        case NOT_TAKEN:
#endif
#ifdef PRECALL
        case PRECALL:
#endif
#ifdef KW_NAMES
        case KW_NAMES:
#endif
            return true;
        default:
            return false;
    }
}

}  // namespace

bool is_call(int opcode) noexcept {
    return opcode == CALL || names_keywords(opcode);
}

bool Operand::received(int passed) const noexcept {
    return is_call && (arguments & bit(passed)) != 0;
}

Operand OperandStack::look(int depth) const noexcept {
    const int index = depth_ - 1 - depth;
    return index >= 0 && index < kOperands ? values_[static_cast<std::size_t>(index)] : Operand{};
}

bool OperandStack::was_assigned(int variable) const noexcept {
    return (was_assigned_ & bit(variable)) != 0;
}

Operand OperandStack::at(int depth) const noexcept {
    const Operand value = look(depth);
    return was_assigned(value.variable) ? assigned_[static_cast<std::size_t>(value.variable)]
                                        : value;
}

void OperandStack::replace(int depth, const Operand& value) noexcept {
    const int index = depth_ - 1 - depth;
    if (index >= 0 && index < kOperands) {
        values_[static_cast<std::size_t>(index)] = value;
    }
}

void OperandStack::push(const Operand& value) noexcept {
    ++depth_;
    replace(0, value);
}

void OperandStack::push_name(PyObject* name, int of_variable) noexcept {
    Operand value;
    value.name = name;
    value.of_variable = of_variable;
    push(value);
}

void OperandStack::pop(int count) noexcept {
    depth_ -= std::min(count, depth_);
}

void OperandStack::swap(int depth) noexcept {
    const Operand top = look(0);
    replace(0, look(depth));
    replace(depth, top);
}

// Ignores assignments of constants, because most of them only initialize a variable to None.
void OperandStack::assign(int variable) noexcept {
    const Operand value = at(0);
    pop(1);
    if (bit(variable) == 0 || value.constant != nullptr) {
        return;
    }
    assigned_[static_cast<std::size_t>(variable)] = was_assigned(variable) ? Operand{} : value;
    was_assigned_ |= bit(variable);
}

PyObject* OperandStack::name_at(int depth) const noexcept {
    const Operand value = look(depth);
    return value.name != nullptr || value.variable < 0
               ? value.name
               : cyclewatch_variable_name(code_, value.variable);
}

// The result of a call such as `f(a, b)`. The two words below the arguments are the function and
// NULL, or a method and its object. For CALL_KW, the tuple of keyword names is on top of the stack.
Operand OperandStack::call_result(const Instruction& call) const noexcept {
    const int top = names_keywords(call.opcode) ? 1 : 0;
    const int callee = top + call.argument;
    Operand result;
    result.is_call = true;
    result.first_argument = callee > top ? name_at(callee - 1) : nullptr;
    for (int depth = top; depth < callee; ++depth) {
        const Operand value = at(depth);
        result.arguments |= bit(variable_at(depth)) | bit(value.variable) | value.arguments;
    }
    result.name = name_at(callee + 1);
    if (result.name == nullptr) {
        result.name = name_at(callee);
    }
    return result;
}

// Global variables, attributes and methods.
void OperandStack::load_name(const Instruction& at) noexcept {
    const bool is_global = at.opcode == LOAD_GLOBAL;
    const bool has_flag = is_global || (at.opcode == LOAD_ATTR && !CYCLEWATCH_HAS_LOAD_METHOD);
    const bool flag = has_flag ? at.argument % 2 != 0 : at.opcode != LOAD_ATTR;
    PyObject* const name =
        item_or(code_->co_names, has_flag ? at.argument / 2 : at.argument, nullptr);
    if (!is_global) {
        const Operand object = look(0);
        pop(1);
        push_name(name, object.variable);
        if (flag) {
            push(object);
        }
        return;
    }
    if (flag && !CYCLEWATCH_CALLEE_IS_BELOW_NULL) {
        push({});
    }
    push_name(name, -1);
    if (flag && CYCLEWATCH_CALLEE_IS_BELOW_NULL) {
        push({});
    }
}

void OperandStack::follow_jump(const Instruction& at) noexcept {
    const int effect = PyCompile_OpcodeStackEffectWithJump(at.opcode, at.argument, 1);
    branches_[next_branch_] = {at.next + at.argument, depth_ + effect};
    next_branch_ = (next_branch_ + 1) % branches_.size();
}

// Applies any other instruction: the values that it pushes or may replace become unknown.
void OperandStack::follow_other(const Instruction& at) noexcept {
    const int effect = PyCompile_OpcodeStackEffectWithJump(at.opcode, at.argument, 0);
    if (effect > kOperands || effect == PY_INVALID_STACK_EFFECT) {
        depth_ = 0;
        return;
    }
    for (int i = 0; i < effect; ++i) {
        push({});
    }
    pop(effect < 0 ? -effect : 0);
    const bool only_pops =
        at.opcode == POP_TOP || at.opcode == STORE_ATTR || jumps_forward(at.opcode);
    for (int depth = 0; depth <= std::max(effect, 0) && !only_pops; ++depth) {
        replace(depth, {});
    }
}

void OperandStack::follow(const Instruction& at) noexcept {
    is_reached_ = !never_continues(at.opcode);
    if (jumps_forward(at.opcode)) {
        follow_jump(at);
    }
    if (const VariableAccesses accesses = accesses_of(at); accesses.only_moves()) {
        for (const VariableAccess& access : accesses) {
            if (access.kind == VariableAccess::Kind::store) {
                assign(access.variable);
            } else {
                push({.variable = access.variable});
            }
        }
        return;
    }
    if (is_call(at.opcode)) {
        const Operand result = call_result(at);
        pop(at.argument + 2 + (names_keywords(at.opcode) ? 1 : 0));
        push(result);
        return;
    }
    if (keeps_stack(at.opcode)) {
        return;
    }
    switch (at.opcode) {
        case PUSH_NULL:
#ifdef LOAD_CLOSURE
        case LOAD_CLOSURE:
#endif
            push({});
            break;
        case LOAD_CONST:
            push({.constant = item_or(code_->co_consts, at.argument, Py_None)});
            break;
#if CYCLEWATCH_COMPILER_BORROWS_VARIABLES
        case LOAD_SMALL_INT:
        case LOAD_COMMON_CONSTANT:
            push({.constant = Py_None});
            break;
#endif
        case LOAD_GLOBAL:
        case LOAD_ATTR:
#if CYCLEWATCH_HAS_LOAD_METHOD
        case LOAD_METHOD:
#endif
            load_name(at);
            break;
        case COPY:
            push(look(at.argument - 1));
            break;
        case SWAP:
            swap(at.argument - 1);
            break;
        default:
            follow_other(at);
    }
}

// If several branches meet here, for example after `a if b else c`, the topmost value is unknown.
void OperandStack::arrive(const Instruction& at) noexcept {
    if (at.index == 0) {
        return;
    }
    int ways = is_reached_ ? 1 : 0;
    for (const Branch& branch : branches_) {
        if (branch.target == at.index) {
            depth_ = branch.depth;
            ++ways;
        }
    }
    if (ways == 0) {
        depth_ = 0;
    } else if (ways > 1) {
        replace(0, {});
    }
}

}  // namespace cyclewatch::bytecode
