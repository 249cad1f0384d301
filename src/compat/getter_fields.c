// SPDX-License-Identifier: Apache-2.0
#include "compat/getter_fields.h"

#include <string.h>

#if defined(__x86_64__) || defined(_M_X64)

enum { kLongest = 4, kMostInstructions = 32 };

// The effect of an instruction on the returned value.
enum effect {
    kNone,
    kLoads,        // the field into a register other than rax
    kLoadsResult,  // the field into rax
    kCopies,       // that register into rax
    kOverwrites,   // rax with another value
    kReturns,
};

struct instruction {
    unsigned char bytes[kLongest];
    unsigned char length;  // of `bytes`
    unsigned char behind;  // bytes after them: an offset or a constant
    unsigned char effect;
};

// The instructions that compilers generate for `Py_INCREF(self->field); return self->field;`,
// optionally enclosed in Py_INCREF(self) and Py_DECREF(self). Conditional jumps occur only in
// reference counting (immortal objects, deallocation), so only the fall-through path is followed.
static const struct instruction kInstructions[] = {
    {{0xf3, 0x0f, 0x1e, 0xfa}, 4, 0, kNone},   // endbr64
    {{0x53}, 1, 0, kNone},                     // push rbx
    {{0x5b}, 1, 0, kNone},                     // pop rbx
    {{0x48, 0x8b, 0x47}, 3, 1, kLoadsResult},  // mov rax, [rdi + offset]
    {{0x48, 0x8b, 0x57}, 3, 1, kLoads},        // mov rdx, [rdi + offset]
    {{0x48, 0x8b, 0x5f}, 3, 1, kLoads},        // mov rbx, [rdi + offset]
    {{0x48, 0x8b, 0x87}, 3, 4, kLoadsResult},  // the same with an offset of 32 bits
    {{0x48, 0x8b, 0x97}, 3, 4, kLoads},
    {{0x48, 0x8b, 0x9f}, 3, 4, kLoads},
    {{0x48, 0x89, 0xd0}, 3, 0, kCopies},            // mov rax, rdx
    {{0x48, 0x89, 0xd8}, 3, 0, kCopies},            // mov rax, rbx
    {{0x48, 0x83, 0x00, 0x01}, 4, 0, kNone},        // add qword [rax], 1
    {{0x48, 0x83, 0x02, 0x01}, 4, 0, kNone},        // add qword [rdx], 1
    {{0x48, 0x83, 0x03, 0x01}, 4, 0, kNone},        // add qword [rbx], 1
    {{0x48, 0x83, 0x07, 0x01}, 4, 0, kNone},        // add qword [rdi], 1
    {{0x48, 0x83, 0x2f, 0x01}, 4, 0, kNone},        // sub qword [rdi], 1
    {{0x48, 0x85, 0xc0}, 3, 0, kNone},              // test rax, rax
    {{0x48, 0x85, 0xd2}, 3, 0, kNone},              // test rdx, rdx
    {{0x48, 0x85, 0xdb}, 3, 0, kNone},              // test rbx, rbx
    {{0x8b, 0x02}, 2, 0, kOverwrites},              // mov eax, [rdx]
    {{0x8b, 0x03}, 2, 0, kOverwrites},              // mov eax, [rbx]
    {{0x8b, 0x07}, 2, 0, kOverwrites},              // mov eax, [rdi]
    {{0x8b, 0x10}, 2, 0, kNone},                    // mov edx, [rax]
    {{0x8b, 0x13}, 2, 0, kNone},                    // mov edx, [rbx]
    {{0x8b, 0x17}, 2, 0, kNone},                    // mov edx, [rdi]
    {{0x48, 0x8b, 0x07}, 3, 0, kOverwrites},        // mov rax, [rdi]
    {{0x48, 0x83, 0xe8, 0x01}, 4, 0, kOverwrites},  // sub rax, 1
    {{0x48, 0x89, 0x07}, 3, 0, kNone},              // mov [rdi], rax
    {{0x83, 0xc0, 0x01}, 3, 0, kOverwrites},        // add eax, 1
    {{0x83, 0xc2, 0x01}, 3, 0, kNone},              // add edx, 1
    {{0x3d}, 1, 4, kNone},                          // cmp eax, constant
    {{0x81, 0xfa}, 2, 4, kNone},                    // cmp edx, constant
    {{0x89, 0x02}, 2, 0, kNone},                    // mov [rdx], eax
    {{0x89, 0x03}, 2, 0, kNone},                    // mov [rbx], eax
    {{0x89, 0x07}, 2, 0, kNone},                    // mov [rdi], eax
    {{0x89, 0x10}, 2, 0, kNone},                    // mov [rax], edx
    {{0x89, 0x13}, 2, 0, kNone},                    // mov [rbx], edx
    {{0x89, 0x17}, 2, 0, kNone},                    // mov [rdi], edx
    {{0x74}, 1, 1, kNone},                          // je
    {{0x76}, 1, 1, kNone},                          // jbe
    {{0x77}, 1, 1, kNone},                          // ja
    {{0xc3}, 1, 0, kReturns},                       // ret
};

// Returns the known instruction at `code`, or null. Does not read beyond the first byte that
// differs from all known instructions.
static const struct instruction* instruction_at(const unsigned char* code) {
    for (size_t i = 0; i < sizeof(kInstructions) / sizeof(kInstructions[0]); ++i) {
        const struct instruction* candidate = &kInstructions[i];
        unsigned char fitting = 0;
        while (fitting < candidate->length && code[fitting] == candidate->bytes[fitting]) {
            ++fitting;
        }
        if (fitting == candidate->length) {
            return candidate;
        }
    }
    return NULL;
}

static Py_ssize_t offset_behind(const unsigned char* code, const struct instruction* instruction) {
    if (instruction->behind == 1) {
        return (signed char)code[instruction->length];
    }
    int offset = 0;
    memcpy(&offset, code + instruction->length, sizeof(offset));
    return offset;
}

Py_ssize_t cyclewatch_field_of_getter(getter get) {
    const unsigned char* code = NULL;
    memcpy(&code, &get, sizeof(code));
    Py_ssize_t field = 0;
    int is_result = 0;
    for (int i = 0; code != NULL && i < kMostInstructions; ++i) {
        const struct instruction* instruction = instruction_at(code);
        if (instruction == NULL) {
            return 0;
        }
        switch (instruction->effect) {
            case kLoads:
            case kLoadsResult:
                if (field != 0 && field != offset_behind(code, instruction)) {
                    return 0;
                }
                field = offset_behind(code, instruction);
                is_result = instruction->effect == kLoadsResult;
                break;
            case kCopies:
                is_result = 1;
                break;
            case kOverwrites:
                is_result = 0;
                break;
            case kReturns:
                return is_result && field > 0 ? field : 0;
            default:
                break;
        }
        code += instruction->length + instruction->behind;
    }
    return 0;
}

#else

Py_ssize_t cyclewatch_field_of_getter(getter get) {
    (void)get;
    return 0;
}

#endif

const char* cyclewatch_name_of_field(PyTypeObject* type, Py_ssize_t offset) {
    for (; type != NULL; type = type->tp_base) {
        const PyGetSetDef* entry = type->tp_getset;
        for (; entry != NULL && entry->name != NULL; ++entry) {
            if (entry->get != NULL && cyclewatch_field_of_getter(entry->get) == offset) {
                return entry->name;
            }
        }
    }
    return NULL;
}
