// SPDX-License-Identifier: Apache-2.0
#include "advice/slots.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"

namespace cyclewatch::advice {
namespace {

constexpr std::array<std::pair<std::string_view, std::string Slots::*>, 4> kSlots{{
    {"holder", &Slots::holder},
    {"target", &Slots::target},
    {"label", &Slots::label},
    {"variable", &Slots::variable},
}};

constexpr std::array<std::string_view, 8> kFunctions{"function ",
                                                     "bound method ",
                                                     "builtin method ",
                                                     "frame of ",
                                                     "generator ",
                                                     "coroutine ",
                                                     "async generator ",
                                                     "locals() of "};

constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz_";

std::string bare_label(std::string_view label) {
    if (label.starts_with(".")) {
        return std::string(label.substr(1));
    }
    if (const std::size_t colon = label.find(':'); colon != std::string_view::npos) {
        return std::string(label.substr(colon + 1));
    }
    if (label.starts_with("['") && label.ends_with("']") && label.size() > 4) {
        return std::string(label.substr(2, label.size() - 4));
    }
    return std::string(label);
}

// The name of the slot whose opening brace is at `at`; "" if the brace does not begin a slot (for
// example, a dict in code).
std::string_view slot_at(std::string_view text, std::size_t at) {
    const std::size_t end = text.find_first_not_of(kLetters, at + 1);
    const bool closed = end != std::string_view::npos && text[end] == '}';
    return closed ? text.substr(at + 1, end - at - 1) : std::string_view{};
}

std::string Slots::*member_of(std::string_view name) {
    for (const auto& [known, member] : kSlots) {
        if (name == known) {
            return member;
        }
    }
    return nullptr;
}

std::string name_in_text(std::string_view full_name) {
    const std::string name(base::last_part(full_name));
    return is_function(full_name) ? "`" + name + "`" : name;
}

}  // namespace

bool is_function(std::string_view full_name) {
    return std::ranges::any_of(
        kFunctions, [full_name](std::string_view prefix) { return full_name.starts_with(prefix); });
}

Slots slots_of(const model::Reference& reference) {
    return {name_in_text(reference.holder),
            name_in_text(reference.target),
            reference.label,
            bare_label(reference.label)};
}

std::string fill(std::string_view text, const Slots& slots) {
    std::string filled;
    for (std::size_t at = 0; at < text.size();) {
        const std::string_view name = text[at] == '{' ? slot_at(text, at) : std::string_view{};
        if (std::string Slots::*const member = member_of(name); member != nullptr) {
            filled += slots.*member;
            at += name.size() + 2;
        } else {
            filled.push_back(text[at++]);
        }
    }
    return filled;
}

}  // namespace cyclewatch::advice
