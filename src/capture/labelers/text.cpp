// SPDX-License-Identifier: Apache-2.0
#include "capture/labelers/text.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>

namespace cyclewatch::capture {
namespace {

constexpr std::uint32_t kReplacement = 0xFFFD;
// The maximum length of a file path on Linux. Longer strings are truncated, because copying and
// comparing them would be slow.
constexpr Py_ssize_t kLongestText = 4096;

std::string_view ascii_view(PyObject* text) noexcept {
    return {reinterpret_cast<const char*>(reinterpret_cast<PyASCIIObject*>(text) + 1),
            static_cast<std::size_t>(PyUnicode_GET_LENGTH(text))};
}

void append_utf8(std::string& out, std::uint32_t point) {
    if (point >= 0xD800 && point <= 0xDFFF) {
        point = kReplacement;
    }
    const auto byte = [&out](std::uint32_t value) { out.push_back(static_cast<char>(value)); };
    if (point < 0x80) {
        byte(point);
    } else if (point < 0x800) {
        byte(0xC0 | (point >> 6));
        byte(0x80 | (point & 0x3F));
    } else if (point < 0x10000) {
        byte(0xE0 | (point >> 12));
        byte(0x80 | ((point >> 6) & 0x3F));
        byte(0x80 | (point & 0x3F));
    } else {
        byte(0xF0 | (point >> 18));
        byte(0x80 | ((point >> 12) & 0x3F));
        byte(0x80 | ((point >> 6) & 0x3F));
        byte(0x80 | (point & 0x3F));
    }
}

std::string encode(PyObject* text) {
    const auto kind = static_cast<int>(PyUnicode_KIND(text));
    if (kind != PyUnicode_1BYTE_KIND && kind != PyUnicode_2BYTE_KIND &&
        kind != PyUnicode_4BYTE_KIND) {
        return {};  // a legacy string without PyUnicode_READY()
    }
    const void* data = PyUnicode_DATA(text);
    const Py_ssize_t length = std::min(PyUnicode_GET_LENGTH(text), kLongestText);
    std::string out;
    out.reserve(static_cast<std::size_t>(length) * 2);
    for (Py_ssize_t i = 0; i < length; ++i) {
        append_utf8(out, PyUnicode_READ(kind, data, i));
    }
    return out;
}

bool is_short_text(PyObject* text) noexcept {
    return PyUnicode_CheckExact(text) && PyUnicode_GET_LENGTH(text) <= kLongestName;
}

// In "pkg.mod.Name", the part after the last dot is the name. Nested names are not supported.
TypeName split_static_name(std::string_view dotted) {
    dotted = dotted.substr(0, kLongestText);
    const std::size_t dot = dotted.rfind('.');
    if (dot == std::string_view::npos) {
        return {{}, std::string(dotted)};
    }
    return {std::string(dotted.substr(0, dot)), std::string(dotted.substr(dot + 1))};
}

}  // namespace

Utf8Text::Utf8Text(PyObject* text) {
    if (text == nullptr || !PyUnicode_CheckExact(text)) {
        return;
    }
    if (PyUnicode_IS_COMPACT_ASCII(text)) {
        view_ = ascii_view(text).substr(0, kLongestText);
        return;
    }
    encoded_ = encode(text);
    view_ = encoded_;
}

bool is_identifier(PyObject* text) noexcept {
    return is_short_text(text) && PyUnicode_IsIdentifier(text) == 1;
}

bool is_child_name(PyObject* text) noexcept {
    if (!is_short_text(text)) {
        return false;
    }
    if (PyUnicode_IsIdentifier(text) == 1) {
        return true;
    }
    if (!PyUnicode_IS_COMPACT_ASCII(text) || PyUnicode_GET_LENGTH(text) == 0) {
        return false;
    }
    for (const char c : ascii_view(text)) {
        if (Py_ISALNUM(c) == 0 && c != '_') {
            return false;
        }
    }
    return true;
}

bool equals_ascii(PyObject* text, std::string_view ascii) noexcept {
    return text != nullptr && PyUnicode_CheckExact(text) && PyUnicode_IS_COMPACT_ASCII(text) &&
           ascii_view(text) == ascii;
}

PyObject* find_in_dict(PyObject* dict, std::string_view ascii) noexcept {
    if (dict == nullptr || !PyDict_Check(dict)) {
        return nullptr;
    }
    Py_ssize_t position = 0;
    PyObject* key = nullptr;
    PyObject* value = nullptr;
    while (PyDict_Next(dict, &position, &key, &value) != 0) {
        if (equals_ascii(key, ascii)) {
            return value;
        }
    }
    return nullptr;
}

std::string TypeName::full() const {
    return module.empty() ? qualname : module + "." + qualname;
}

TypeName name_of_type(PyTypeObject* type) {
    if (!PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE)) {
        return split_static_name(type->tp_name);
    }
    TypeName name;
    PyObject* qualname = reinterpret_cast<PyHeapTypeObject*>(type)->ht_qualname;
    name.qualname = Utf8Text(qualname).view();
    if (name.qualname.empty()) {
        name.qualname = split_static_name(type->tp_name).qualname;
    }
    name.module = Utf8Text(find_in_dict(type->tp_dict, "__module__")).view();
    if (name.module == "builtins") {
        name.module.clear();
    }
    return name;
}

PyTypeObject* base_named(PyTypeObject* type, const char* name) noexcept {
    while (type != nullptr && !has_tp_name(type, name)) {
        type = type->tp_base;
    }
    return type;
}

bool has_base(PyTypeObject* type, std::string_view module, std::string_view qualname) {
    for (; type != nullptr; type = type->tp_base) {
        const TypeName name = name_of_type(type);
        if (name.module == module && (qualname.empty() || name.qualname == qualname)) {
            return true;
        }
    }
    return false;
}

bool has_tp_name(const PyTypeObject* type, const char* name) noexcept {
    return std::strcmp(type->tp_name, name) == 0;
}

// A script that is started by a relative path keeps the ".." in the names of its code. Terminals
// and editors do not link such a path. The path stays as it is if a link changes the meaning of
// "..".
std::string path_of(PyCodeObject* code) {
    std::string path(Utf8Text(code->co_filename).view());
    if (path.find("/../") == std::string::npos) {
        return path;
    }
    std::string normal = std::filesystem::path(path).lexically_normal().string();
    std::error_code error;
    return std::filesystem::equivalent(path, normal, error) && !error ? normal : path;
}

bool has_file(PyCodeObject* code) noexcept {
    PyObject* const path = code->co_filename;
    return path != nullptr && PyUnicode_CheckExact(path) && PyUnicode_GET_LENGTH(path) > 0 &&
           PyUnicode_READ_CHAR(path, 0) != '<';
}

}  // namespace cyclewatch::capture
