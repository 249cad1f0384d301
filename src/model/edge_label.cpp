// SPDX-License-Identifier: Apache-2.0
#include "model/edge_label.h"

namespace cyclewatch::model {
namespace {

constexpr std::string_view kDigits = "0123456789";

std::string join(std::string_view before, std::string_view name, std::string_view after = {}) {
    std::string text;
    text.reserve(before.size() + name.size() + after.size());
    return text.append(before).append(name).append(after);
}

std::string with_position(EdgeKind kind, std::string_view name, std::string_view position) {
    switch (kind) {
        case EdgeKind::unknown:
            return "?";
        case EdgeKind::attribute:
            return join(".", name);
        case EdgeKind::slot:
            return join("slot:", name);
        case EdgeKind::member:
        case EdgeKind::hook:
            return std::string(name);
        case EdgeKind::key_value:
            return join("['", name, "']");
        case EdgeKind::opaque_key_value:
            return join("[<", name, ">]");
        case EdgeKind::captured_key_value:
            return join("[", name, "]");
        case EdgeKind::dict_key:
            return "key";
        case EdgeKind::index:
            return join("[", position, "]");
        case EdgeKind::element:
            return "element";
        case EdgeKind::partial_argument:
            return join("args[", position, "]");
        case EdgeKind::partial_keyword:
            return join("keywords['", name, "']");
        case EdgeKind::closure:
            return join("closure:", name);
        case EdgeKind::default_value:
            return join("default:", name);
        case EdgeKind::local:
            return join("local:", name);
        case EdgeKind::stack:
            return join("stack[", position, "]");
    }
    return "?";
}

}  // namespace

std::string label_text(EdgeKind kind, std::string_view name, std::uint32_t index) {
    if (kind == EdgeKind::key_value && index == kHiddenKey) {
        return with_position(EdgeKind::opaque_key_value, "str", {});
    }
    return with_position(kind, name, std::to_string(index));
}

std::string label_text_of_many(EdgeKind kind, std::string_view name, std::uint32_t index) {
    return kind == EdgeKind::key_value ? label_text(kind, name, index)
                                       : with_position(kind, name, "x");
}

std::string name_shape(std::string_view name) {
    const std::size_t end = name.find_last_not_of(kDigits) + 1;
    return end == name.size() ? std::string(name) : join(name.substr(0, end), "#");
}

std::string key_shape(std::string_view key) {
    std::string shape = name_shape(key);
    return shape.find_first_of(kDigits) == std::string::npos ? shape : std::string();
}

std::string generic_label_text(EdgeKind kind, std::string_view name, std::uint32_t index) {
    if (kind == EdgeKind::key_value) {
        const std::string shape = key_shape(name);
        return shape.empty() ? with_position(EdgeKind::opaque_key_value, "str", {})
                             : with_position(kind, shape, {});
    }
    if (kind == EdgeKind::captured_key_value) {
        return with_position(EdgeKind::opaque_key_value, index == 0 ? "str" : "int", {});
    }
    if (kind == EdgeKind::attribute || kind == EdgeKind::slot ||
        kind == EdgeKind::partial_keyword) {
        return with_position(kind, name_shape(name), {});
    }
    return with_position(kind, name, "x");
}

}  // namespace cyclewatch::model
