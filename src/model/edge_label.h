// SPDX-License-Identifier: Apache-2.0
// How one object refers to another: the kind of reference and the name or index it goes by.
// docs/design/glossary.md holds the label grammar that to_text() writes.
#pragma once

#include <string>
#include <string_view>

#include "model/ids.h"

namespace cyclewatch::model {

enum class EdgeKind : std::uint8_t {
    unknown,             // ?                nothing names it
    attribute,           // .name            entry of an instance's, class's or module's __dict__
    slot,                // slot:name        __slots__ entry
    member,              // name             C member: __self__, tb_frame, f_back, cell_contents ...
    key_value,           // ['name']         value under a key that is an identifier; index
                         //                 kHiddenKey: shown as [<str>]
    opaque_key_value,    // [<int>]          value under any other key; name is the key's type
    captured_key_value,  // ['a b'] [17]    as opaque_key_value, with capture_values: name is the
                         //                 key in brackets, index 0 for str and 1 for int
    dict_key,            // key              the reference to a dict key
    index,               // [3]              item of a sequence
    element,             // element          member of a set
    partial_argument,    // args[0]          functools.partial
    partial_keyword,     // keywords['k']    functools.partial
    closure,             // closure:name     free variable of a function
    default_value,       // default:name     default of a parameter
    local,               // local:name       variable of a frame, generator or coroutine
    stack,               // stack[2]         temporary on a frame's value stack
    hook,                // forward hook     what a torch.nn.Module calls; name is the kind of hook
    field,               // C field at offset 24   field of a C struct without a name; index is the
                         //                 offset in bytes, from the start of the object
};

// The index of a key_value that is the program's data and no word of its source: the text counts
// in signatures, as key_shape() has it, and stands in no report.
inline constexpr std::uint32_t kHiddenKey = 1;

struct EdgeLabel {
    EdgeKind kind = EdgeKind::unknown;
    StringId name = kEmptyString;  // of the kinds that have one
    std::uint32_t index = 0;       // of index, partial_argument and stack; what the kind says

    // The index where it tells references of one object apart, else 0.
    [[nodiscard]] std::uint32_t position() const { return kind == EdgeKind::key_value ? 0 : index; }

    friend bool operator==(const EdgeLabel&, const EdgeLabel&) = default;
};

// The label as a person reads it. `name` is the text of the label's name. Names of attributes and
// keys are shown as without_ids() gives them, so that a title is the same on every run.
[[nodiscard]] std::string label_text(EdgeKind kind, std::string_view name, std::uint32_t index);

// The same with [x] in place of the index: of several references that differ in no more.
[[nodiscard]] std::string label_text_of_many(EdgeKind kind,
                                             std::string_view name,
                                             std::uint32_t index);

// `name` with placeholders for what differs on every run: "<uuid>" for a UUID, "<id>" for an
// address or another number of eight and more hexadecimal digits. "hook_<id>" of
// "hook_139872346112".
[[nodiscard]] std::string without_ids(std::string_view name);

// The name of a series for what is numbered: "slot_#" of "slot_17", without_ids() of any other.
[[nodiscard]] std::string name_shape(std::string_view name);

// What of a key that is an identifier goes into a signature: the name of a series for what is
// numbered ("request_#" of "request_17"), "" for what has digits elsewhere, else the key itself. It
// hangs on the text alone, not on where the program has it from.
[[nodiscard]] std::string key_shape(std::string_view key);

// The label with every index replaced by [x], and keys and names of attributes and keyword
// arguments by their shape, since one line of code may make them: what a signature is made of. Keys
// that capture_values added are left out again, so that it changes no signature.
[[nodiscard]] std::string generic_label_text(EdgeKind kind,
                                             std::string_view name,
                                             std::uint32_t index);

}  // namespace cyclewatch::model
