// SPDX-License-Identifier: Apache-2.0
#include "capture/makers.h"

#include <algorithm>

#include "capture/class_code.h"
#include "compat/attribute_stores.h"
#include "compat/code_names.h"
#include "compat/code_values.h"

namespace cyclewatch::capture {
namespace {

using model::HolderMade;

// The number of the variable `name` in `code`; -1 if there is none, or it comes too late.
int variable_number(PyCodeObject* code, PyObject* name) {
    // Calls tell no more than so many of their arguments.
    const Py_ssize_t count =
        std::min<Py_ssize_t>(cyclewatch_variable_count(code), CYCLEWATCH_ASSIGNED);
    for (Py_ssize_t i = 0; i < count; ++i) {
        if (cyclewatch_variable_name(code, i) == name) {
            return static_cast<int>(i);
        }
    }
    return -1;
}

// True if the code has the class's name in it. Most has not, and is not read.
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

// What one method does with instances of `made` that it makes for its own object.
class MethodSearch {
  public:
    MethodSearch(PyCodeObject* method, PyTypeObject* made)
        : made_(made), self_name_(cyclewatch_variable_name(method, 0)) {
        look_into(method, 0);
    }

    bool makes = false;
    bool gives_out = false;

  private:
    void look_into(PyCodeObject* code, int depth) {
        Visit visit{*this, code, depth, variable_number(code, self_name_)};
        if (visit.self >= 0 && mentions(code, made_)) {
            cyclewatch_visit_values(code, Visit::value, &visit);
        }
        visit_inner_code(code, depth, [&](PyCodeObject* inner) { look_into(inner, depth + 1); });
    }

    struct Visit {
        MethodSearch& search;
        PyCodeObject* code;
        int depth;
        int self;
        bool stored = false;

        [[nodiscard]] bool is_made(int is_call, PyObject* name, std::uint32_t arguments) const {
            return is_call != 0 && (arguments >> self) % 2 != 0 && is_name_of(name, search.made_);
        }
        static int value(const cyclewatch_operand* value, cyclewatch_use use, void* arg) noexcept {
            auto& visit = *static_cast<Visit*>(arg);
            const bool made = visit.is_made(value->is_call, value->name, value->arguments);
            visit.search.makes = visit.search.makes || made;
            if (use == CYCLEWATCH_GIVEN_OUT && visit.depth == 0) {
                const bool out = made || visit.is_stored_as(*value);
                visit.search.gives_out = visit.search.gives_out || out;
            }
            return 0;
        }
        // `return self._view`, where the same code puts there what it has made.
        [[nodiscard]] bool is_stored_as(const cyclewatch_operand& value) {
            if (value.is_call != 0 || value.name == nullptr) {
                return false;
            }
            for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(code->co_names); ++i) {
                if (PyTuple_GET_ITEM(code->co_names, i) == value.name) {
                    stored = false;
                    cyclewatch_visit_stores(code, {i, nullptr}, Visit::store, this);
                    return stored;
                }
            }
            return false;
        }
        static int store(const cyclewatch_store* store, void* arg) noexcept {
            auto& visit = *static_cast<Visit*>(arg);
            visit.stored = store->variable == visit.self &&
                           visit.is_made(store->is_call, store->name, store->arguments);
            return visit.stored ? 1 : 0;
        }
    };

    PyTypeObject* made_;
    PyObject* self_name_;
};

// Every class in Python has tp_iternext, though it may do nothing but complain.
bool is_iterator(PyTypeObject* type) {
    bool found = false;
    visit_bases(type, [&](PyTypeObject* base) {
        found = find_in_dict(base->tp_dict, "__next__") != nullptr;
        return found;
    });
    return found;
}

}  // namespace

HolderMade how_made(PyTypeObject* holder, PyTypeObject* target) {
    bool makes = false;
    bool gives_out = false;
    visit_bases(target, [&](PyTypeObject* base) {
        visit_methods(base, [&](const Method& method) {
            if (has_file(method.code) && method.gets_self(false) && method.code->co_argcount > 0) {
                const MethodSearch search(method.code, holder);
                makes = makes || search.makes;
                gives_out = gives_out || (search.gives_out && !method.is_constructor());
            }
        });
        return gives_out;
    });
    if (!gives_out) {
        return makes ? HolderMade::by_target : HolderMade::unknown;
    }
    return is_iterator(holder) ? HolderMade::iterator_of_the_target
                               : HolderMade::given_out_by_target;
}

}  // namespace cyclewatch::capture
