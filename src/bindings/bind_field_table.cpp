// SPDX-License-Identifier: Apache-2.0
// report_fields(), from which scripts/report_fields.py writes the schema, the stub and the viewer's
// types.
#include <pybind11/stl.h>

#include <limits>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

#include "bindings/bind.h"
#include "bindings/bind_fields.h"

namespace cyclewatch::bindings {
namespace {

// The struct in `structs` is added after those that it contains.
template <typename T>
void add_structs(py::dict& structs);

// The JSON Schema of a type. Adds the structs that it contains.
template <typename T>
py::dict schema_of(py::dict& structs) {
    py::dict schema;
    if constexpr (std::is_same_v<T, bool>) {
        schema["type"] = "boolean";
    } else if constexpr (std::is_integral_v<T>) {
        schema["type"] = "integer";
        schema["minimum"] = std::numeric_limits<T>::min();
        schema["maximum"] = std::numeric_limits<T>::max();
    } else if constexpr (std::is_floating_point_v<T>) {
        schema["type"] = "number";
    } else if constexpr (model::Worded<T>) {
        const model::Words words = words_of(T{});
        schema["enum"] = py::cast(std::vector<std::string>(words.begin(), words.end()));
    } else if constexpr (format::HasFields<T>) {
        add_structs<T>(structs);
        schema["$ref"] = format::Fields<T>::name;
    } else if constexpr (format::kIsList<T>) {
        schema["type"] = "array";
        schema["items"] = schema_of<typename T::value_type>(structs);
    } else if constexpr (std::is_same_v<T, std::map<std::string, std::uint64_t>>) {
        schema["type"] = "object";
        schema["additionalProperties"] = schema_of<std::uint64_t>(structs);
    } else {
        static_assert(std::is_same_v<T, std::string>);
        schema["type"] = "string";
    }
    return schema;
}

// What the file contains instead of an unknown value.
template <typename T>
std::string unknown_in_file(const format::FieldOptions& options) {
    if constexpr (format::kIsOptional<T>) {
        return "missing";
    } else if constexpr (std::is_arithmetic_v<T>) {
        return std::to_string(options.none);
    } else {
        return "empty";
    }
}

template <auto kMember>
py::dict describe_field(const format::Field<kMember>& field, py::dict& structs) {
    using T = format::ValueOf<kMember>;
    const format::FieldOptions& options = field.options;
    py::dict entry;
    entry["name"] = field.name;
    entry["text"] = format::describe(field.text, unknown_in_file<T>(options), options.unknown);
    entry["schema"] = schema_of<format::WithoutOptional<T>>(structs);
    entry["required"] = !format::kIsOptional<T>;
    entry["attribute"] = options.python == format::kNotInPython ? py::object(py::none())
                                                                : py::cast(python_name(field));
    entry["may_be_none"] =
        options.unknown != nullptr && !format::kIsList<format::WithoutOptional<T>>;
    return entry;
}

template <typename T>
void add_structs(py::dict& structs) {
    using Fields = format::Fields<T>;
    if (structs.contains(Fields::name)) {
        return;
    }
    py::list fields;
    const auto add = [&](const auto& field) { fields.append(describe_field(field, structs)); };
    std::apply([&](const auto&... field) { (add(field), ...); }, Fields::list);
    py::dict entry;
    entry["text"] = Fields::text;
    entry["fields"] = fields;
    structs[Fields::name] = entry;
}

}  // namespace

void bind_field_table(py::module_& module) {
    module.attr("REPORT_SCHEMA_VERSION") = model::kReportSchemaVersion;
    module.def(
        "report_fields",
        [] {
            py::dict structs;
            add_structs<model::Report>(structs);
            return structs;
        },
        "The structs of a report and their fields: for each struct, by its name in Python, its "
        "text and a list of fields with name, text, schema, required, attribute and may_be_none.");
}

}  // namespace cyclewatch::bindings
