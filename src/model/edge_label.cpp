// SPDX-License-Identifier: Apache-2.0
#include "model/edge_label.h"

#include <algorithm>

namespace cyclewatch::model {
namespace {

constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kUuid = "<uuid>";
constexpr std::string_view kId = "<id>";
constexpr std::size_t kShortestId = 8;         // hexadecimal digits, at least one of them 0-9
constexpr std::size_t kShortestDecimalId = 9;  // decimal digits within a longer word
constexpr std::size_t kUuidDigits = 32;

constexpr bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

constexpr bool is_hexadecimal(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

// Also true for non-ASCII bytes, which are treated as parts of UTF-8 letters.
constexpr bool is_alphanumeric(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           static_cast<unsigned char>(c) >= 0x80;
}

template <typename Accept>
std::size_t length_of_run(std::string_view text, Accept accept) {
    std::size_t length = 0;
    while (length < text.size() && accept(text[length])) {
        ++length;
    }
    return length;
}

// Length of the UUID at the start of `text`, with groups separated by "-" or "_"; 0 if there is
// none.
std::size_t length_of_uuid(std::string_view text) {
    std::size_t at = 0;
    for (const std::size_t group : {8, 4, 4, 4, 12}) {
        if (at > 0) {
            if (at == text.size() || (text[at] != '-' && text[at] != '_')) {
                return 0;
            }
            ++at;
        }
        if (length_of_run(text.substr(at), is_hexadecimal) < group) {
            return 0;
        }
        at += group;
    }
    return at == text.size() || !is_alphanumeric(text[at]) ? at : 0;
}

// REQUIRES: `word` consists of letters and digits.
std::string word_without_ids(std::string_view word) {
    const std::string_view digits = word.starts_with("0x") ? word.substr(2) : word;
    const bool is_number =
        length_of_run(digits, is_hexadecimal) == digits.size() && digits.size() >= kShortestId;
    if (is_number && word.find_first_of(kDigits) != std::string_view::npos) {
        return std::string(digits.size() == kUuidDigits ? kUuid : kId);
    }
    std::string text;
    for (std::size_t at = 0; at < word.size();) {
        const std::size_t length = length_of_run(word.substr(at), is_digit);
        if (length >= kShortestDecimalId) {
            text.append(kId);
        } else {
            text.append(word.substr(at, std::max<std::size_t>(length, 1)));
        }
        at += std::max<std::size_t>(length, 1);
    }
    return text;
}

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
        case EdgeKind::member_item:
            return join(name, "[", position) + "]";
        case EdgeKind::key_value:
            return join("['", name, "']");
        case EdgeKind::opaque_key_value:
            return join("[<", name, ">]");
        case EdgeKind::captured_key_value:
            return join("[", name, "]");
        case EdgeKind::dict_key:
            return "key";
        case EdgeKind::index:
            return name.empty() ? join("[", position, "]") : join(".", name);
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
        case EdgeKind::field:
            return join("C field at offset ", position);
    }
    return "?";
}

// True for kinds of references whose names a program may compute at run time.
constexpr bool may_be_computed(EdgeKind kind) {
    return kind == EdgeKind::attribute || kind == EdgeKind::slot || kind == EdgeKind::key_value ||
           kind == EdgeKind::partial_keyword;
}

}  // namespace

std::string label_text(EdgeKind kind, std::string_view name, std::uint32_t index) {
    if (kind == EdgeKind::key_value && index == kHiddenKey) {
        return with_position(EdgeKind::opaque_key_value, "str", {});
    }
    return may_be_computed(kind) ? with_position(kind, without_ids(name), {})
                                 : with_position(kind, name, std::to_string(index));
}

std::string label_text_of_many(EdgeKind kind, std::string_view name, std::uint32_t index) {
    return may_be_computed(kind) ? label_text(kind, name, index) : with_position(kind, name, "x");
}

std::string without_ids(std::string_view name) {
    std::string text;
    for (std::size_t at = 0; at < name.size();) {
        if (const std::size_t uuid = length_of_uuid(name.substr(at)); uuid != 0) {
            text.append(kUuid);
            at += uuid;
        } else if (const std::size_t word = length_of_run(name.substr(at), is_alphanumeric);
                   word != 0) {
            text.append(word_without_ids(name.substr(at, word)));
            at += word;
        } else {
            text.push_back(name[at++]);
        }
    }
    return text;
}

std::string name_shape(std::string_view text) {
    const std::string name = without_ids(text);
    const std::size_t end = name.find_last_not_of(kDigits) + 1;
    return end == name.size() ? name : join(std::string_view(name).substr(0, end), "#");
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
    if (may_be_computed(kind)) {
        return with_position(kind, name_shape(name), {});
    }
    return with_position(kind, name, "x");
}

}  // namespace cyclewatch::model
