// SPDX-License-Identifier: Apache-2.0
// Enumerations that files and Python spell as words. Such an enumeration has a words_of() beside
// it, found by its type, that lists the words in the order of its values.
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

// Nothing where `word` is none of the words.
template <Worded E>
[[nodiscard]] std::optional<E> from_word(std::string_view word) {
    const Words words = words_of(E{});
    const auto found = std::find(words.begin(), words.end(), word);
    return found == words.end() ? std::nullopt
                                : std::optional(static_cast<E>(found - words.begin()));
}

}  // namespace cyclewatch::model
