// SPDX-License-Identifier: Apache-2.0
#include "bytecode/instructions.h"

#include <opcode.h>

#include "compat/features.h"
#include "compat/object_layout.h"

namespace cyclewatch::bytecode {

Bytecode::Bytecode(PyCodeObject* code) noexcept {
    if (!CYCLEWATCH_LAYOUTS_KNOWN || cyclewatch_layouts_failed != 0) {
        return;
    }
    bytes_ = python::steal(PyCode_GetCode(code));
    if (!bytes_) {
        PyErr_Clear();  // out of memory
        return;
    }
    units_ = reinterpret_cast<const unsigned char*>(PyBytes_AS_STRING(bytes_.get()));
    size_ = PyBytes_GET_SIZE(bytes_.get()) / 2;
}

bool Bytecode::advance(Instruction& at) const noexcept {
    if (at.next >= size_) {
        return false;
    }
    const int extended = at.opcode == EXTENDED_ARG ? at.argument << 8 : 0;
    at.index = at.next;
    at.opcode = units_[2 * at.index];
    at.argument = units_[2 * at.index + 1] | extended;
    do {
        ++at.next;
    } while (at.next < size_ && units_[2 * at.next] == CACHE);
    return true;
}

bool jumps_forward(int opcode) noexcept {
    switch (opcode) {
        case JUMP_FORWARD:
#if CYCLEWATCH_CONDITIONAL_JUMPS_HAVE_DIRECTIONS
        case JUMP_IF_FALSE_OR_POP:
        case JUMP_IF_TRUE_OR_POP:
        case POP_JUMP_FORWARD_IF_FALSE:
        case POP_JUMP_FORWARD_IF_TRUE:
        case POP_JUMP_FORWARD_IF_NONE:
        case POP_JUMP_FORWARD_IF_NOT_NONE:
#else
        case POP_JUMP_IF_FALSE:
        case POP_JUMP_IF_TRUE:
        case POP_JUMP_IF_NONE:
        case POP_JUMP_IF_NOT_NONE:
#endif
            return true;
        default:
            return false;
    }
}

bool never_continues(int opcode) noexcept {
    switch (opcode) {
        case JUMP_FORWARD:
        case JUMP_BACKWARD:
        case JUMP_BACKWARD_NO_INTERRUPT:
        case RETURN_VALUE:
#ifdef RETURN_CONST
        case RETURN_CONST:
#endif
        case RAISE_VARARGS:
        case RERAISE:
            return true;
        default:
            return false;
    }
}

bool VariableAccesses::only_moves() const noexcept {
    using Kind = VariableAccess::Kind;
    return count > 0 && (items[0].kind == Kind::load || items[0].kind == Kind::store);
}

VariableAccesses accesses_of(const Instruction& at) noexcept {
    using Kind = VariableAccess::Kind;
    const auto one = [&at](Kind kind) { return VariableAccesses{{{{at.argument, kind}}}, 1}; };
    switch (at.opcode) {
        case LOAD_FAST:
        case LOAD_DEREF:
#ifdef LOAD_FAST_CHECK
        case LOAD_FAST_CHECK:
#endif
#if CYCLEWATCH_COMPILER_BORROWS_VARIABLES
        case LOAD_FAST_BORROW:
#endif
            return one(Kind::load);
#ifdef LOAD_FAST_AND_CLEAR
        case LOAD_FAST_AND_CLEAR:
#endif
#ifdef LOAD_CLASSDEREF
        case LOAD_CLASSDEREF:
#endif
#ifdef LOAD_FROM_DICT_OR_DEREF
        case LOAD_FROM_DICT_OR_DEREF:
#endif
#ifdef LOAD_CLOSURE
        case LOAD_CLOSURE:
#endif
            return one(Kind::other_read);
        case STORE_FAST:
        case STORE_DEREF:
            return one(Kind::store);
        case DELETE_FAST:
        case DELETE_DEREF:
            return one(Kind::remove);
#if CYCLEWATCH_COMPILER_PAIRS_VARIABLES
        case LOAD_FAST_LOAD_FAST:
#if CYCLEWATCH_COMPILER_BORROWS_VARIABLES
        case LOAD_FAST_BORROW_LOAD_FAST_BORROW:
#endif
        case STORE_FAST_LOAD_FAST:
        case STORE_FAST_STORE_FAST: {
            const bool loads_first =
                at.opcode != STORE_FAST_LOAD_FAST && at.opcode != STORE_FAST_STORE_FAST;
            const bool stores_second = at.opcode == STORE_FAST_STORE_FAST;
            return {{{{at.argument >> 4, loads_first ? Kind::load : Kind::store},
                      {at.argument & 15, stores_second ? Kind::store : Kind::load}}},
                    2};
        }
#endif
        default:
            return {};
    }
}

}  // namespace cyclewatch::bytecode
