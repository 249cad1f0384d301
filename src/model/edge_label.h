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
    key_value,           // ['name']         value under a key that is an identifier
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
};

struct EdgeLabel {
    EdgeKind kind = EdgeKind::unknown;
    StringId name = kEmptyString;  // of the kinds that have one
    std::uint32_t index = 0;       // of index, partial_argument and stack

    friend bool operator==(const EdgeLabel&, const EdgeLabel&) = default;
};

// The label as a person reads it. `name` is the text of the label's name.
[[nodiscard]] std::string label_text(EdgeKind kind, std::string_view name, std::uint32_t index);

// The label with every index replaced by [x]: what a signature is made of.
// Keys that capture_values added are left out again, so that it changes no signature.
[[nodiscard]] std::string generic_label_text(EdgeKind kind,
                                             std::string_view name,
                                             std::uint32_t index);

}  // namespace cyclewatch::model
