// SPDX-License-Identifier: Apache-2.0
#include "capture/creator_search.h"

#include <algorithm>

#include "capture/class_code.h"
#include "compat/code_names.h"
#include "compat/operand_stack.h"

namespace cyclewatch::capture {
namespace {

// The number of the variable `name` in `code`; -1 if there is none.
int variable_number(PyCodeObject* code, PyObject* name) {
    // The arguments of a call are known only for the first variables.
    const Py_ssize_t count =
        std::min<Py_ssize_t>(cyclewatch_variable_count(code), CYCLEWATCH_ASSIGNED);
    for (Py_ssize_t i = 0; i < count; ++i) {
        if (cyclewatch_variable_name(code, i) == name) {
            return static_cast<int>(i);
        }
    }
    return -1;
}

// True if the code contains the name of the class. With this check, most code need not be analyzed.
bool mentions(PyCodeObject* code, PyTypeObject* type) {
    bool found = false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(code->co_names) && !found; ++i) {
        found = is_name_of(PyTuple_GET_ITEM(code->co_names, i), type);
    }
    for (Py_ssize_t i = 0; i < cyclewatch_variable_count(code) && !found; ++i) {
        found = is_name_of(cyclewatch_variable_name(code, i), type);
    }
    return found;
}

struct Visit {
    PyTypeObject* created;
    int self;
    static int call(const cyclewatch_operand* called, int /*offset*/, void* arg) noexcept {
        const auto& visit = *static_cast<Visit*>(arg);
        return (called->arguments >> visit.self) % 2 != 0 && is_name_of(called->name, visit.created)
                   ? 1
                   : 0;
    }
};

// True if `code` or a nested function calls the class with the variable `self`.
bool creates_in(PyCodeObject* code, PyTypeObject* created, PyObject* self, int depth) {
    Visit visit{created, variable_number(code, self)};
    bool found = visit.self >= 0 && mentions(code, created) &&
                 cyclewatch_visit_calls(code, Visit::call, &visit) != 0;
    visit_inner_code(code, depth, [&](PyCodeObject* inner) {
        found = found || creates_in(inner, created, self, depth + 1);
    });
    return found;
}

}  // namespace

bool creates(PyTypeObject* creator, PyTypeObject* created) {
    bool found = false;
    visit_bases(creator, [&](PyTypeObject* base) {
        visit_methods(base, [&](const Method& method) {
            found =
                found ||
                (has_file(method.code) && method.gets_self(false) && method.code->co_argcount > 0 &&
                 creates_in(method.code, created, cyclewatch_variable_name(method.code, 0), 0));
        });
        return found;
    });
    return found;
}

}  // namespace cyclewatch::capture
