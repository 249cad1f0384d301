// SPDX-License-Identifier: Apache-2.0
// Tracks the values on the interpreter's stack while bytecode is read, without running it. Records,
// for each value, the variable from which it was loaded or the call that returned it. Used to
// determine which classes create instances of others, and whether a stored value was created or
// passed in (capture/class_methods and store_search). Only the instructions that matter for this
// purpose are interpreted; the values that other instructions push are unknown.
#pragma once

#include <Python.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "bytecode/instructions.h"

namespace cyclewatch::bytecode {

// `variable` and `of_variable` are indices into the frame's variables (compat/code_names.h), or -1.
struct Operand {
    int variable = -1;                   // the variable from which the value was loaded
    int of_variable = -1;                // the variable of which the value is an attribute
    PyObject* constant = nullptr;        // a constant of the code (None for a small integer)
    PyObject* name = nullptr;            // name of the value or of the called function
    PyObject* first_argument = nullptr;  // of the call: name of the first argument
    std::uint32_t arguments = 0;         // of the call: bit v is set if variable v < 32 is passed
    bool is_call = false;                // the result of a call

    // True for the result of a call that received `passed`, an index into the frame's variables.
    [[nodiscard]] bool received(int passed) const noexcept;
};

inline constexpr int kTrackedVariables = 32;

class OperandStack {
  public:
    explicit OperandStack(PyCodeObject* code) noexcept : code_(code) {}

    // Returns the value at `depth` below the top. If the value was loaded from a variable to which
    // the code has assigned a value, returns the assigned value instead. If the code has assigned
    // the variable several times, the result is unknown.
    [[nodiscard]] Operand at(int depth) const noexcept;

    // Returns the variable from which the value at `depth` below the top was loaded; -1 if unknown.
    [[nodiscard]] int variable_at(int depth) const noexcept { return look(depth).variable; }

    // Describes the result of the call that is performed next.
    [[nodiscard]] Operand call_result(const Instruction& call) const noexcept;

    // Call arrive() for each instruction, then follow() to apply its effect.
    void arrive(const Instruction& at) noexcept;
    void follow(const Instruction& at) noexcept;

  private:
    static constexpr int kOperands = 24;

    [[nodiscard]] Operand look(int depth) const noexcept;
    [[nodiscard]] bool was_assigned(int variable) const noexcept;
    [[nodiscard]] PyObject* name_at(int depth) const noexcept;
    void replace(int depth, const Operand& value) noexcept;
    void push(const Operand& value) noexcept;
    void push_name(PyObject* name, int of_variable) noexcept;
    void pop(int count) noexcept;
    void swap(int depth) noexcept;
    void assign(int variable) noexcept;
    void load_name(const Instruction& at) noexcept;
    void follow_jump(const Instruction& at) noexcept;
    void follow_other(const Instruction& at) noexcept;

    struct Branch {
        Py_ssize_t target = 0;
        int depth = 0;
    };

    PyCodeObject* code_;
    std::array<Operand, kOperands> values_{};  // the lowest ones
    int depth_ = 0;
    std::array<Operand, kTrackedVariables> assigned_{};
    std::uint32_t was_assigned_ = 0;    // bit v: a value that is not a constant was assigned to v
    std::array<Branch, 4> branches_{};  // the latest forward jumps
    std::size_t next_branch_ = 0;
    bool is_reached_ = true;  // false: control never passes from the previous instruction here
};

// Calls visit(stack, instruction) before each instruction takes effect, until visit() returns true.
// Returns whether it did.
template <typename Visit>
bool visit_operands(PyCodeObject* code, Visit&& visit) {
    const Bytecode bytecode(code);
    OperandStack stack(code);
    Instruction at;
    while (bytecode.advance(at)) {
        stack.arrive(at);
        if (visit(stack, at)) {
            return true;
        }
        stack.follow(at);
    }
    return false;
}

[[nodiscard]] bool is_call(int opcode) noexcept;

// Calls visit(result, offset) for each call, until visit() returns true. `offset` is the byte
// offset of the call, for cyclewatch_line_at(). Returns whether visit() returned true.
template <typename Visit>
bool visit_calls(PyCodeObject* code, Visit&& visit) {
    return visit_operands(code, [&](const OperandStack& stack, const Instruction& at) {
        return is_call(at.opcode) && visit(stack.call_result(at), at.offset());
    });
}

}  // namespace cyclewatch::bytecode
