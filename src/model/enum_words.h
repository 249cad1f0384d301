// SPDX-License-Identifier: Apache-2.0
// The names that enumerators have in files and in Python. For each enumeration with names, an
// overload of words_of() lists the names in the order of the values. Argument-dependent lookup
// finds the overload.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

namespace cyclewatch::model {

using Words = std::span<const std::string_view>;

template <typename E>
concept Worded = std::is_enum_v<E> && requires(E value) {
    { words_of(value) } -> std::same_as<Words>;
};

template <Worded E>
[[nodiscard]] std::string_view word_of(E value) {
    return words_of(value)[static_cast<std::size_t>(value)];
}

// std::nullopt if `word` is not one of the names.
template <Worded E>
[[nodiscard]] std::optional<E> from_word(std::string_view word) {
    const Words words = words_of(E{});
    const auto found = std::find(words.begin(), words.end(), word);
    return found == words.end() ? std::nullopt
                                : std::optional(static_cast<E>(found - words.begin()));
}

}  // namespace cyclewatch::model
