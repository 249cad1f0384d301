// SPDX-License-Identifier: Apache-2.0
// Properties in Python for the fields that src/format/report_fields.h lists.
//
// REQUIRES (everything here): GIL held.
#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "bindings/values.h"
#include "format/report_fields.h"

namespace cyclewatch::bindings {

// A list of structs, each of which is a class in Python.
template <typename T>
inline constexpr bool kIsListOfStructs = false;
template <format::HasFields T>
inline constexpr bool kIsListOfStructs<std::vector<T>> = true;

// Converts the value of a field. `parent` is the object that the value is part of; views into it
// keep it alive.
template <typename Parent, typename T>
py::object value_of(const std::shared_ptr<Parent>& parent, T& value) {
    if constexpr (kIsListOfStructs<T>) {
        return views(parent, value);
    } else if constexpr (format::HasFields<T>) {
        return py::cast(std::shared_ptr<T>(parent, &value));
    } else if constexpr (model::Worded<T>) {
        return py::cast(model::word_of(value));
    } else {
        return py::cast(value);
    }
}

template <typename Parent, typename T>
py::object value_or_none(const std::shared_ptr<Parent>& parent,
                         T& value,
                         const format::FieldOptions& options) {
    if constexpr (format::kIsOptional<T>) {
        if (value) {
            return value_of(parent, *value);
        }
        if constexpr (format::kIsList<typename T::value_type>) {
            return py::list();
        } else {
            return options.unknown == nullptr ? py::cast(typename T::value_type{})
                                              : py::object(py::none());
        }
    } else {
        const bool known = options.unknown == nullptr || [&] {
            if constexpr (std::is_arithmetic_v<T>) {
                return value != static_cast<T>(options.none);
            } else if constexpr (std::is_same_v<T, std::string>) {
                return !value.empty();
            } else {
                return true;
            }
        }();
        return known ? value_of(parent, value) : py::object(py::none());
    }
}

// The name of the property.
template <auto kMember>
std::string python_name(const format::Field<kMember>& field) {
    return std::string(field.options.python.empty() ? field.name : field.options.python);
}

// The docstring of the property.
template <auto kMember>
std::string doc_of(const format::Field<kMember>& field) {
    using T = format::ValueOf<kMember>;
    constexpr bool kList = format::kIsOptional<T> && format::kIsList<format::WithoutOptional<T>>;
    return format::describe(field.text, kList ? "empty" : "None", field.options.unknown);
}

// As above, for the field of `kMember`.
template <auto kMember>
std::string doc_of() {
    return doc_of(std::get<format::Field<kMember>>(format::Fields<format::ClassOf<kMember>>::list));
}

template <typename Model, typename Class, auto kMember>
void bind_field(Class& added, const format::Field<kMember>& field) {
    if (field.options.python == format::kNotInPython) {
        return;
    }
    const std::string doc = doc_of(field);
    added.def_property_readonly(
        python_name(field).c_str(),
        [options = field.options](const std::shared_ptr<Model>& self) {
            return value_or_none(self, (*self).*kMember, options);
        },
        doc.c_str());
}

// Adds a property to the class for each field of Model, but for those that are not in Python.
template <typename Model, typename Class>
void bind_fields(Class& added) {
    std::apply([&](const auto&... field) { (bind_field<Model>(added, field), ...); },
               format::Fields<Model>::list);
}

// The names of the properties that bind_fields() adds.
template <typename Model>
std::vector<std::string> property_names() {
    std::vector<std::string> names;
    const auto add = [&names](const auto& field) {
        if (field.options.python != format::kNotInPython) {
            names.push_back(python_name(field));
        }
    };
    std::apply([&](const auto&... field) { (add(field), ...); }, format::Fields<Model>::list);
    return names;
}

// Adds the class for a struct, with its fields. `more`: the rest of the docstring.
template <typename Model>
py::class_<Model, std::shared_ptr<Model>> add_struct(py::module_& module, std::string_view more) {
    using Fields = format::Fields<Model>;
    const std::string doc = std::string(Fields::text) + "\n\n" + std::string(more);
    py::class_<Model, std::shared_ptr<Model>> added(module, Fields::name, doc.c_str());
    bind_fields<Model>(of_package(added));
    return added;
}

}  // namespace cyclewatch::bindings
