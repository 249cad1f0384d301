// SPDX-License-Identifier: Apache-2.0
#include "capture/store_search.h"

#include "capture/class_code.h"
#include "capture/labelers/text.h"
#include "compat/code_names.h"

namespace cyclewatch::capture {
namespace {

using model::ValueOrigin;

// Where the value of a store comes from, in the code of a function that is not within another.
ValueOrigin origin_of_value(PyCodeObject* code,
                            const cyclewatch_store& store,
                            PyTypeObject* target) {
    const cyclewatch_operand& value = store.value;
    if (value.is_call != 0) {
        const bool given_the_holder = store.variable >= 0 && store.variable < 32 &&
                                      (value.arguments >> store.variable) % 2 != 0;
        const bool made = given_the_holder || is_name_of(value.name, target);
        return made ? ValueOrigin::made : ValueOrigin::taken;
    }
    if (value.variable == 0 && store.variable != 0) {
        return ValueOrigin::gives_itself;
    }
    const bool is_parameter =
        value.variable >= 0 && value.variable < code->co_argcount + code->co_kwonlyargcount;
    return is_parameter || value.name != nullptr ? ValueOrigin::taken : ValueOrigin::unknown;
}

void keep_first(const AttributeStore& found, AttributeStore& first, bool& several) noexcept {
    if (first.code == nullptr) {
        first = found;
    } else {
        several = several || first.line != found.line;
    }
}

}  // namespace

struct StoreSearch::Visit {
    StoreSearch& search;
    PyCodeObject* code;
    int depth;
    static int call(const cyclewatch_store* store, void* arg) noexcept {
        auto& visit = *static_cast<Visit*>(arg);
        if (store->value.constant == nullptr) {
            visit.search.note(visit.code, visit.depth, *store);
        }
        return 0;
    }
};

StoreSearch::StoreSearch(std::string_view name, PyCodeObject* function, PyTypeObject* target)
    : name_(name),
      target_(target),
      self_(function->co_argcount > 0 ? cyclewatch_variable_name(function, 0) : nullptr) {
    look_into(function, 0);
}

void StoreSearch::look_into(PyCodeObject* code, int depth) {
    const cyclewatch_attribute attribute{index_of_name(code, name_), constant_of_text(code, name_)};
    if (attribute.number >= 0 || attribute.constant != nullptr) {
        Visit visit{*this, code, depth};
        cyclewatch_visit_stores(code, attribute, Visit::call, &visit);
    }
    visit_inner_code(code, depth, [&](PyCodeObject* inner) { look_into(inner, depth + 1); });
}

void StoreSearch::note(PyCodeObject* code, int depth, const cyclewatch_store& store) noexcept {
    // In a function within the method, `self` is the method's only as a free variable: its own
    // first parameter may be the instance of a class that is defined there.
    if (depth > 0 && store.variable == 0 && code->co_argcount > 0) {
        return;
    }
    PyObject* const variable =
        store.variable < 0 ? nullptr : cyclewatch_variable_name(code, store.variable);
    const auto line = static_cast<std::uint32_t>(cyclewatch_line_at(code, store.offset));
    const bool is_on_self = variable != nullptr && variable == self_;
    const ValueOrigin value =
        depth > 0 ? ValueOrigin::unknown : origin_of_value(code, store, target_);
    const AttributeStore found{code, line, value};
    if (is_on_self) {
        on_self = on_self.code == nullptr ? found : on_self;
        return;
    }
    keep_first(found, on_other, several_others);
    if (variable != nullptr) {
        keep_first(found, on_variable, several_variables);
    }
}

void ForeignStores::look_into(PyCodeObject* code, bool is_method) {
    if (!has_file(code)) {
        return;
    }
    const StoreSearch search(name_, code, target_);
    if (on_variables_) {
        note(search.on_variable, search.several_variables);
    } else {
        note(search.on_other, search.several_others);
    }
    if (!is_method) {  // its first parameter is like any other
        note(search.on_self, false);
    }
}

void ForeignStores::look_into_methods(PyTypeObject* type) {
    visit_methods(type, [&](const Method& method) { look_into(method.code, true); });
}

AttributeStore ForeignStores::result() const {
    AttributeStore result = several_ ? AttributeStore{} : found_;
    if (found_.code != nullptr) {
        result.value = by_itself_ ? ValueOrigin::gives_itself : ValueOrigin::taken;
    }
    return result;
}

void ForeignStores::note(const AttributeStore& store, bool several) {
    if (store.code == nullptr) {
        return;
    }
    several_ = several_ || several || (found_.code != nullptr && found_.line != store.line);
    found_ = store;
    by_itself_ = by_itself_ || store.value == ValueOrigin::gives_itself;
}

}  // namespace cyclewatch::capture
