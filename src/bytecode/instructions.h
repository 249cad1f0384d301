// SPDX-License-Identifier: Apache-2.0
// The instructions of a code object as the compiler emitted them. The interpreter itself converts
// specialized and instrumented instructions back.
//
// Everything in this room: REQUIRES: GIL held. RUNS PYTHON: never. Results are borrowed from the
// code object. ALLOCATES: only the bytes of `co_code`, which the code object caches. bytes objects
// are not tracked by the collector. A code object has no instructions if out of memory, on Python
// versions that have not been reviewed (CYCLEWATCH_LAYOUTS_KNOWN), and if the layout check failed.
#pragma once

#include <Python.h>

#include <array>

#include "python/references.h"

namespace cyclewatch::bytecode {

// To start before the first instruction, create an Instruction without arguments.
struct Instruction {
    Py_ssize_t index = 0;  // in units
    Py_ssize_t next = 0;   // index of the next instruction, after the inline caches
    int opcode = 0;
    int argument = 0;  // including preceding EXTENDED_ARGs

    // The byte offset that line tables use; for cyclewatch_line_at().
    [[nodiscard]] int offset() const noexcept { return static_cast<int>(index * 2); }
};

class Bytecode {
  public:
    explicit Bytecode(PyCodeObject* code) noexcept;

    // The number of units; 0 if the instructions are unknown.
    [[nodiscard]] Py_ssize_t size() const noexcept { return size_; }
    // Moves `at` to the next instruction. Returns false at the end.
    [[nodiscard]] bool advance(Instruction& at) const noexcept;

  private:
    python::OwnedRef bytes_;
    const unsigned char* units_ = nullptr;
    Py_ssize_t size_ = 0;
};

// True if control never passes from an instruction with this opcode to the next one.
[[nodiscard]] bool never_continues(int opcode) noexcept;

// True for a conditional or unconditional jump to a later instruction. False for FOR_ITER and SEND,
// which also change the stack.
[[nodiscard]] bool jumps_forward(int opcode) noexcept;

struct VariableAccess {
    enum class Kind : unsigned char { load, other_read, store, remove };

    int variable = -1;  // index into the frame's variables (compat/code_names.h)
    Kind kind = Kind::load;
};

// What an instruction does with variables, in this order.
struct VariableAccesses {
    std::array<VariableAccess, 2> items;
    int count = 0;

    // True if the instruction does nothing but push the loaded values and pop the stored ones.
    [[nodiscard]] bool only_moves() const noexcept;
    [[nodiscard]] auto begin() const noexcept { return items.begin(); }
    [[nodiscard]] auto end() const noexcept { return items.begin() + count; }
};

[[nodiscard]] VariableAccesses accesses_of(const Instruction& at) noexcept;

}  // namespace cyclewatch::bytecode
