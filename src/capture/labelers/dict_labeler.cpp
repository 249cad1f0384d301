// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "capture/labelers/labelers.h"
#include "capture/labelers/text.h"
#include "compat/object_layout.h"

namespace cyclewatch::capture {
namespace {

using model::EdgeKind;
using model::PartRole;

// Returns the edge kind for the entries of a dict whose keys are names. The kind depends on the
// dict's role.
EdgeKind entry_kind(PartRole role) noexcept {
    switch (role) {
        case PartRole::instance_dict:
        case PartRole::type_dict:
        case PartRole::module_dict:
        case PartRole::nn_children:
            return EdgeKind::attribute;
        case PartRole::keyword_defaults:
            return EdgeKind::default_value;
        case PartRole::partial_keywords:
            return EdgeKind::partial_keyword;
        default:
            return EdgeKind::key_value;
    }
}

constexpr std::uint32_t kStrKey = 0;  // index of an EdgeKind::captured_key_value
constexpr std::uint32_t kIntKey = 1;

// The text of a key that is a short str, an int, or a short tuple of such keys; "" for any other
// key.
std::string text_of_key(PyObject* key, bool is_item = false) {
    constexpr Py_ssize_t kMostItems = 4;
    if (PyUnicode_CheckExact(key) && PyUnicode_GET_LENGTH(key) <= kLongestName) {
        return "'" + std::string(Utf8Text(key).view()) + "'";
    }
    if (PyLong_CheckExact(key)) {
        int overflow = 0;
        const long long number = PyLong_AsLongLongAndOverflow(key, &overflow);
        return overflow == 0 ? std::to_string(number) : std::string();
    }
    if (is_item || !PyTuple_CheckExact(key) || PyTuple_GET_SIZE(key) > kMostItems) {
        return {};
    }
    std::string text;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key); ++i) {
        const std::string item = text_of_key(PyTuple_GET_ITEM(key, i), true);
        if (item.empty()) {
            return {};
        }
        text.append(i == 0 ? "(" : ", ").append(item);
    }
    return text.empty() ? text : text + (PyTuple_GET_SIZE(key) == 1 ? ",)" : ")");
}

// Used with capture_values. Labels `value` with the text of its key, and returns false if the key
// has no text.
bool add_captured(PyObject* key, PyObject* value, ReferenceSink& sink) {
    const std::string text = text_of_key(key);
    if (!text.empty()) {
        const bool is_str = PyUnicode_CheckExact(key);
        sink.add(value, EdgeKind::captured_key_value, text, is_str ? kStrKey : kIntKey);
    }
    return !text.empty();
}

// If a str looks like a name that contains a UUID or an address, returns it with placeholders
// ("fsdp_state:<uuid>"). Returns "" for any other str.
std::string shape_with_ids(PyObject* key) {
    if (!PyUnicode_CheckExact(key) || PyUnicode_GET_LENGTH(key) > kLongestName) {
        return {};
    }
    const std::string_view text = Utf8Text(key).view();
    const auto is_of_word = [](char c) {
        return Py_ISALNUM(c) != 0 || std::string_view("_:.-").find(c) != std::string_view::npos;
    };
    if (!PyUnicode_IS_COMPACT_ASCII(key) || !std::ranges::all_of(text, is_of_word)) {
        return {};
    }
    std::string shape = model::name_shape(text);
    // Outside a UUID, "." and "-" occur in data ("john.smith-19800101") rather than in names.
    const bool is_name = shape.find_first_of(".-") == std::string::npos;
    return is_name && shape.find('<') != std::string::npos ? shape : std::string();
}

// Labels `value`, which an ordinary dict stores under `key`. The key must be an identifier. The
// compiler interns ASCII identifiers in the source code, so an interned key is shown. A str created
// at run time ("request_17") may be user data. Whether a key is interned may depend on the Python
// version and may change over time. Interning affects only the display of the key.
void add_key(PyObject* key, PyObject* value, ReferenceSink& sink) {
    const Utf8Text text(key);
    if (const std::string shape = shape_with_ids(key); !shape.empty()) {
        sink.add(value, EdgeKind::key_value, shape, 0);
    } else if (PyUnicode_CHECK_INTERNED(key) != 0 || sink.wants_values()) {
        sink.add(value, EdgeKind::key_value, text.view(), 0);
    } else if (const std::string shape = model::key_shape(text.view()); !shape.empty()) {
        sink.add(value, EdgeKind::key_value, shape, model::kHiddenKey);
    } else {
        sink.add(value, EdgeKind::opaque_key_value, "str", 0);
    }
}

// Keys may contain user data. Without capture_values, shows a key only if it is a name; otherwise
// shows the type of the key.
void add_value(PyObject* key, PyObject* value, PartRole role, ReferenceSink& sink) {
    const EdgeKind kind = entry_kind(role);
    if (kind == EdgeKind::key_value && is_identifier(key)) {
        add_key(key, value, sink);
    } else if (role == PartRole::nn_children ? is_child_name(key) : is_identifier(key)) {
        sink.add(value, kind, Utf8Text(key).view(), 0);
    } else if (sink.wants_values() && add_captured(key, value, sink)) {
        return;
    } else if (const std::string shape = shape_with_ids(key); !shape.empty()) {
        sink.add(value, EdgeKind::key_value, shape, 0);
    } else if (PyUnicode_CheckExact(key)) {
        sink.add(value, EdgeKind::opaque_key_value, "str", 0);
    } else {
        const std::string type = name_of_type(Py_TYPE(key)).full();
        sink.add(value, EdgeKind::opaque_key_value, type, 0);
    }
}

}  // namespace

void label_dict(PyObject* object, PartRole role, ReferenceSink& sink) {
    const bool borrows = cyclewatch_dict_borrows_values(object) != 0;
    Py_ssize_t position = 0;
    PyObject* key = nullptr;
    PyObject* value = nullptr;
    while (PyDict_Next(object, &position, &key, &value) != 0) {
        // A plain str has no references and needs no edge.
        if (!PyUnicode_CheckExact(key)) {
            sink.add(key, EdgeKind::dict_key, {}, 0);
        }
        if (!borrows) {
            add_value(key, value, role, sink);
        }
    }
}

void label_plain_dict(PyObject* object, ReferenceSink& sink) {
    label_dict(object, PartRole::none, sink);
}

}  // namespace cyclewatch::capture
