// SPDX-License-Identifier: Apache-2.0
#include "capture/store_search.h"

#include <optional>

#include "capture/class_code.h"
#include "capture/labelers/text.h"
#include "compat/code_names.h"

namespace cyclewatch::capture {
namespace {

using model::ValueOrigin;

// Determines the origin of the stored value. `code` must not be a nested function.
ValueOrigin origin_of_value(PyCodeObject* code,
                            const bytecode::AttributeStore& store,
                            PyTypeObject* target) {
    const bytecode::Operand& value = store.value;
    if (value.is_call) {
        return value.received(store.variable) || is_name_of(value.name, target)
                   ? ValueOrigin::made
                   : ValueOrigin::taken;
    }
    if (value.variable == 0 && store.variable != 0) {
        return ValueOrigin::gives_itself;
    }
    const bool is_parameter =
        value.variable >= 0 && value.variable < code->co_argcount + code->co_kwonlyargcount;
    return is_parameter || value.name != nullptr ? ValueOrigin::taken : ValueOrigin::unknown;
}

// Returns the byte offset of the first call to `helper`. If `argument` is not null, ignores calls
// whose first argument is not the variable `argument`.
std::optional<int> offset_of_call(PyCodeObject* code, PyObject* helper, PyObject* argument) {
    std::optional<int> found;
    bytecode::visit_calls(code, [&](const bytecode::Operand& called, int offset) {
        const bool passed = argument == nullptr || called.first_argument == argument;
        found = called.name == helper && passed ? std::optional(offset) : std::nullopt;
        return found.has_value();
    });
    return found;
}

bool has_parameter(PyCodeObject* code, std::string_view name) {
    Py_ssize_t left = code->co_argcount + code->co_kwonlyargcount;
    while (left > 0 && !equals_ascii(cyclewatch_variable_name(code, left - 1), name)) {
        --left;
    }
    return left > 0;
}

}  // namespace

void FirstStore::add(const StoreSite& store, bool ambiguous) {
    is_ambiguous = is_ambiguous || ambiguous || (is_found() && site.line != store.line);
    site = is_found() ? site : store;
}

// A store with a computed name may set any attribute, so it counts only if the value may be an
// instance of the target class.
bool StoreSearch::is_wanted(const bytecode::AttributeStore& store) const {
    const bool is_other = store.kind == bytecode::StoreKind::computed && store.value.is_call &&
                          !equals_ascii(store.value.name, "getattr") &&
                          !is_name_of(store.value.name, target_);
    return store.kind == kind_ && store.value.constant == nullptr && !is_other;
}

StoreSearch::StoreSearch(std::string_view name,
                         PyCodeObject* function,
                         PyTypeObject* target,
                         bytecode::StoreKind kind)
    : name_(name),
      target_(target),
      kind_(kind),
      self_(function->co_argcount > 0 ? cyclewatch_variable_name(function, 0) : nullptr) {
    visit_nested_code(function, [this](PyCodeObject* code, int depth) { search(code, depth); });
    for (FirstStore* const store : {&on_self, &on_other, &on_variable}) {
        if (store->is_found()) {
            store->site.path = path_of(function);
        }
    }
}

// A quick test: most functions that use the name only read the attribute.
bool StoreSearch::may_store(PyCodeObject* code, const bytecode::AttributeName& attribute) const {
    switch (kind_) {
        case bytecode::StoreKind::computed:
            return index_of_name(code, "setattr") >= 0 || index_of_name(code, "__setattr__") >= 0;
        case bytecode::StoreKind::by_call:
            return attribute.constant != nullptr;
        case bytecode::StoreKind::into:
            return attribute.number >= 0;
        default:
            return attribute.constant != nullptr ||
                   (attribute.number >= 0 && bytecode::stores_attribute(code, attribute.number));
    }
}

void StoreSearch::search(PyCodeObject* code, int depth) {
    const bytecode::AttributeName attribute{index_of_name(code, name_),
                                            constant_of_text(code, name_)};
    if (may_store(code, attribute)) {
        bytecode::visit_stores(
            code, attribute, [&](const bytecode::AttributeStore& store, int offset) {
                if (is_wanted(store)) {
                    add(code, depth, store, offset);
                }
                return false;
            });
    }
}

void StoreSearch::add(PyCodeObject* code,
                      int depth,
                      const bytecode::AttributeStore& store,
                      int offset) {
    // A nested function accesses the method's `self` through a free variable. The first parameter
    // of the nested function is a different object, possibly an instance of a class defined in the
    // method.
    if (depth > 0 && store.variable == 0 && code->co_argcount > 0) {
        return;
    }
    PyObject* const variable =
        store.variable < 0 ? nullptr : cyclewatch_variable_name(code, store.variable);
    StoreSite found;
    found.line = static_cast<std::uint32_t>(cyclewatch_line_at(code, offset));
    found.columns = columns_at(code, offset);
    found.in_dict = store.in_dict;
    found.value = depth > 0 ? ValueOrigin::unknown : origin_of_value(code, store, target_);
    if (variable != nullptr && variable == self_) {
        on_self.add(found);
        return;
    }
    // Outside the holder's methods, only `parent.child = Child(parent)` shows that the value is a
    // child of the holder.
    if (found.value == ValueOrigin::made &&
        (variable == nullptr || store.value.first_argument != variable)) {
        found.value = ValueOrigin::taken;
    }
    on_other.add(found);
    if (variable != nullptr) {
        on_variable.add(found);
    }
}

void ForeignStores::search(PyCodeObject* code, bool is_method) {
    if (!has_file(code)) {
        return;
    }
    const StoreSearch stores(name_, code, target_, kind_);
    add(on_variables_ ? stores.on_variable : stores.on_other);
    if (!is_method) {
        add({stores.on_self.site});
    }
}

void ForeignStores::search_class(PyTypeObject* type, bool is_foreign) {
    visit_bases(type, [&](PyTypeObject* base) {
        visit_methods(base, [&](const Method& method) { search(method.code, !is_foreign); });
        return false;
    });
}

void ForeignStores::search_module(PyObject* globals) {
    visit_module_code(globals,
                      [&](const ModuleCode& found) { search(found.code, found.is_method); });
}

void ForeignStores::search_calls(PyTypeObject* type, PyObject* helper, PyCodeObject* code) {
    const bool reads_frame = index_of_name(code, "f_locals") >= 0;
    if (!reads_frame && !StoreSearch(name_, code, target_, kind_).on_self.is_found()) {
        return;
    }
    visit_methods(type, [&](const Method& method) {
        if (!has_file(method.code) || !method.gets_self(false) || method.code->co_argcount == 0 ||
            (reads_frame && !has_parameter(method.code, name_))) {
            return;
        }
        PyObject* const self = cyclewatch_variable_name(method.code, 0);
        if (const auto offset = offset_of_call(method.code, helper, reads_frame ? nullptr : self)) {
            StoreSite site;
            site.path = path_of(method.code);
            site.line = static_cast<std::uint32_t>(cyclewatch_line_at(method.code, *offset));
            site.columns = columns_at(method.code, *offset);
            add({site});
        }
    });
}

void ForeignStores::search_helpers(PyTypeObject* type) {
    Py_ssize_t position = 0;
    PyObject* key = nullptr;
    PyObject* value = nullptr;
    PyObject* const globals = globals_of_module(name_of_type(type).module);
    while (globals != nullptr && PyDict_Next(globals, &position, &key, &value) != 0) {
        if (PyFunction_Check(value)) {
            const auto search = [&](PyCodeObject* code) { search_calls(type, key, code); };
            visit_functions(value, search);
        } else if (PyType_Check(value)) {
            visit_methods(reinterpret_cast<PyTypeObject*>(value), [&](const Method& method) {
                if (Py_IS_TYPE(method.entry, &PyStaticMethod_Type)) {
                    search_calls(type, method.name, method.code);
                }
            });
        }
    }
}

StoreSite ForeignStores::result() const {
    StoreSite result = found_.is_ambiguous ? StoreSite{} : found_.site;
    if (found_.is_found() && result.value != ValueOrigin::made) {
        result.value = gives_itself_ ? ValueOrigin::gives_itself : ValueOrigin::taken;
    }
    return result;
}

void ForeignStores::add(const FirstStore& store) {
    if (store.is_found()) {
        found_.add(store.site, store.is_ambiguous);
        gives_itself_ = gives_itself_ || store.site.value == ValueOrigin::gives_itself;
    }
}

}  // namespace cyclewatch::capture
