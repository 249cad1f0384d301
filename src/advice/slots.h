// SPDX-License-Identifier: Apache-2.0
// Replaces the slots in pattern texts with names from one reference.
#pragma once

#include <string>
#include <string_view>

#include "model/finding.h"

namespace cyclewatch::advice {

// The text inserted for each slot.
struct Slots {
    std::string holder;    // "Engine", "`<lambda>`"
    std::string target;    // like holder
    std::string label;     // ".callback", "closure:self"
    std::string variable;  // the name in the label ("callback", "self"), else the label
};

[[nodiscard]] Slots slots_of(const model::Reference& reference);

// True if `full_name` names a function, method, frame, generator, coroutine or result of locals().
// In sentences, the names of these objects are enclosed in backquotes.
[[nodiscard]] bool is_function(std::string_view full_name);

// Replaces every slot in `text`. Other braces, and braces in the inserted names, are left
// unchanged.
[[nodiscard]] std::string fill(std::string_view text, const Slots& slots);

}  // namespace cyclewatch::advice
