// SPDX-License-Identifier: Apache-2.0
#include "bytecode/variable_reads.h"

#include <opcode.h>

#include <algorithm>
#include <vector>

#include "bytecode/instructions.h"
#include "compat/features.h"

namespace cyclewatch::bytecode {
namespace {

enum class Effect : unsigned char { none, reads, replaces };

Effect effect_on(int variable, const Instruction& at) noexcept {
    using Kind = VariableAccess::Kind;
    for (const VariableAccess& access : accesses_of(at)) {
        if (access.variable == variable) {
            return access.kind == Kind::store || access.kind == Kind::remove ? Effect::replaces
                                                                             : Effect::reads;
        }
    }
    return Effect::none;
}

// 1 for a jump forward, -1 for a jump backward, otherwise 0.
int jump_direction(int opcode) noexcept {
    switch (opcode) {
        case FOR_ITER:
        case SEND:
            return 1;
        case JUMP_BACKWARD:
        case JUMP_BACKWARD_NO_INTERRUPT:
#if CYCLEWATCH_CONDITIONAL_JUMPS_HAVE_DIRECTIONS
        case POP_JUMP_BACKWARD_IF_FALSE:
        case POP_JUMP_BACKWARD_IF_TRUE:
        case POP_JUMP_BACKWARD_IF_NONE:
        case POP_JUMP_BACKWARD_IF_NOT_NONE:
#endif
            return -1;
        default:
            return jumps_forward(opcode) ? 1 : 0;
    }
}

// Reads the numbers of an exception table: six bits per byte, and a bit that is set if another byte
// follows.
class ExceptionTable {
  public:
    explicit ExceptionTable(PyObject* table) noexcept
        : at_(reinterpret_cast<const unsigned char*>(PyBytes_AS_STRING(table))),
          end_(at_ + PyBytes_GET_SIZE(table)) {}

    [[nodiscard]] bool at_end() const noexcept { return at_ == end_; }
    Py_ssize_t next() noexcept {
        Py_ssize_t number = 0;
        while (at_ != end_) {
            const unsigned char byte = *at_++;
            number = number << 6 | (byte & 63);
            if ((byte & 64) == 0) {
                break;
            }
        }
        return number;
    }

  private:
    const unsigned char* at_;
    const unsigned char* end_;
};

// The instructions that the variable's present value can reach.
class Reached {
  public:
    Reached(PyCodeObject* code, Py_ssize_t start)
        : code_(code),
          bytecode_(code),
          start_(start),
          is_reached_(static_cast<std::size_t>(bytecode_.size())) {}

    [[nodiscard]] bool any_read(int variable) {
        if (start_ < 0 || start_ >= bytecode_.size()) {
            return true;
        }
        Instruction at;
        while (at.index <= start_ && bytecode_.advance(at)) {
        }
        if (at.index > start_) {  // false for the last instruction
            reach(at.index);
        }
        do {
            has_changed_ = false;
            reach_handlers();
            if (follow(variable)) {
                return true;
            }
        } while (has_changed_);
        return false;
    }

  private:
    void reach(Py_ssize_t index) {
        if (index >= 0 && index < bytecode_.size() && !is_reached(index)) {
            is_reached_[static_cast<std::size_t>(index)] = true;
            has_changed_ = true;
        }
    }

    [[nodiscard]] bool is_reached(Py_ssize_t index) const {
        return is_reached_[static_cast<std::size_t>(index)];
    }

    // Adds the exception handlers of the instructions that are reached.
    void reach_handlers() {
        ExceptionTable table(code_->co_exceptiontable);
        while (!table.at_end()) {
            const Py_ssize_t first = table.next();
            const Py_ssize_t last = std::min(first + table.next(), bytecode_.size());
            const Py_ssize_t handler = table.next();
            table.next();  // the depth of the stack
            bool is_covered = first <= start_ && start_ < last;
            for (Py_ssize_t index = first; index < last && !is_covered; ++index) {
                is_covered = is_reached(index);
            }
            if (is_covered) {
                reach(handler);
            }
        }
    }

    // Follows the instructions once, from the first to the last. Returns true if one of them reads
    // the variable.
    bool follow(int variable) {
        Instruction at;
        while (bytecode_.advance(at)) {
            const Effect effect = is_reached(at.index) ? effect_on(variable, at) : Effect::replaces;
            if (effect == Effect::reads) {
                return true;
            }
            if (effect == Effect::replaces) {
                continue;
            }
            if (const int direction = jump_direction(at.opcode); direction != 0) {
                reach(at.next + Py_ssize_t{direction} * at.argument);
            }
            if (!never_continues(at.opcode)) {
                reach(at.next);
            }
        }
        return false;
    }

    PyCodeObject* code_;
    Bytecode bytecode_;
    Py_ssize_t start_;  // the instruction that is being executed
    std::vector<bool> is_reached_;
    bool has_changed_ = false;
};

}  // namespace

bool is_read_again(PyCodeObject* code, int variable, Py_ssize_t instruction) {
    return Reached(code, instruction).any_read(variable);
}

}  // namespace cyclewatch::bytecode
