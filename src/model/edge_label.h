// SPDX-License-Identifier: Apache-2.0
// Describes how one object refers to another, by the kind of reference and its name or index.
// docs/design/glossary.md describes the label grammar that label_text() writes.
#pragma once

#include <string>
#include <string_view>

#include "model/ids.h"

namespace cyclewatch::model {

enum class EdgeKind : std::uint8_t {
    unknown,             // ?                nothing is known about the reference
    attribute,           // .name            entry of an instance's, class's or module's __dict__
    slot,                // slot:name        __slots__ entry
    member,              // name             C member: __self__, tb_frame, f_back, cell_contents ...
    key_value,           // ['name']         value under a key that is an identifier; index
                         //                 kHiddenKey: shown as [<str>]
    opaque_key_value,    // [<int>]          value under any other key; name is the key's type
    captured_key_value,  // ['a b'] [17]     like opaque_key_value, with capture_values: name is the
                         //                 repr of the key; index is 0 for str, otherwise 1
    dict_key,            // key              a dict's reference to one of its keys
    index,             // [3] .name        item of a sequence; name is that of a NamedTuple's field
    element,           // element          member of a set
    partial_argument,  // args[0]          functools.partial
    partial_keyword,   // keywords['k']    functools.partial
    closure,           // closure:name     free variable of a function
    default_value,     // default:name     default of a parameter
    local,             // local:name       variable of a frame, generator or coroutine
    stack,             // stack[2]         temporary on a frame's value stack
    hook,              // forward hook     hook of a torch object; name is the kind of hook
    field,             // C field at offset 24   unnamed field of a C struct; index is the offset
                       //                 in bytes from the start of the object
    member_item,       // name[3]          item of an array that is a C member
};

// The index of a `key_value` label whose key is program data and does not occur in the source code.
// Reports never show such a key; signatures contain its key_shape().
inline constexpr std::uint32_t kHiddenKey = 1;

struct EdgeLabel {
    EdgeKind kind = EdgeKind::unknown;
    StringId name = kEmptyString;  // for kinds that have a name
    std::uint32_t index = 0;       // meaning depends on the kind, see EdgeKind

    // Returns the index if it distinguishes references with the same holder, otherwise 0.
    [[nodiscard]] std::uint32_t position() const { return kind == EdgeKind::key_value ? 0 : index; }

    friend bool operator==(const EdgeLabel&, const EdgeLabel&) = default;
};

// The label as shown in reports. `name` is the text of EdgeLabel::name. Attribute names and keys
// are passed through without_ids(), so that labels are the same on every run.
[[nodiscard]] std::string label_text(EdgeKind kind, std::string_view name, std::uint32_t index);

// The label with [x] instead of the index, for several references that differ only in their index.
[[nodiscard]] std::string label_text_of_many(EdgeKind kind,
                                             std::string_view name,
                                             std::uint32_t index);

// Replaces the parts of `name` that differ between runs: UUIDs with "<uuid>", and addresses and
// other numbers of at least eight hexadecimal digits with "<id>". "hook_139872346112" ->
// "hook_<id>".
[[nodiscard]] std::string without_ids(std::string_view name);

// Replaces a trailing number with "#" ("slot_17" -> "slot_#"). Other names are passed through
// without_ids().
[[nodiscard]] std::string name_shape(std::string_view name);

// The text that replaces a dict key in signatures if the key is an identifier. Returns
// name_shape(key), or "" if name_shape(key) still contains digits. Depends only on the text.
[[nodiscard]] std::string key_shape(std::string_view key);

// The label as it appears in signatures. Every index becomes [x]. Keys, attribute names and names
// of keyword arguments are replaced with their shape, because one line of code may compute many of
// them. Keys that are recorded only with capture_values are omitted, so that this setting does not
// change signatures.
[[nodiscard]] std::string generic_label_text(EdgeKind kind,
                                             std::string_view name,
                                             std::uint32_t index);

}  // namespace cyclewatch::model
