// SPDX-License-Identifier: Apache-2.0
// Texts with slots, filled in for one reference.
#pragma once

#include <string>
#include <string_view>

#include "model/finding.h"

namespace cyclewatch::catalog {

inline constexpr std::string_view kSlotNames = "{holder}, {target}, {label}, {variable}";

// What the slots stand for, in the short form a person uses.
struct Slots {
    std::string holder;    // "Engine", "<lambda>"
    std::string target;    // like holder
    std::string label;     // ".callback", "closure:self"
    std::string variable;  // the bare name in the label: "callback", "self"; else the label
};

// `reference` as a report shows it.
[[nodiscard]] Slots slots_of(const model::Reference& reference);

// `text` with every slot filled in. Names that hold braces stay as they are.
[[nodiscard]] std::string fill(std::string_view text, const Slots& slots);

// The first slot of `text` that fill() does not know, without its braces; "" if there is none.
[[nodiscard]] std::string unknown_slot(std::string_view text);

}  // namespace cyclewatch::catalog
