// SPDX-License-Identifier: Apache-2.0
// Truncates, escapes and formats names and numbers for every output format. Names come from the
// watched program and are untrusted. The results are single lines of valid, visible UTF-8 without
// terminal, HTML or Graphviz control sequences.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cyclewatch::base {

// Returns one line of valid UTF-8. Line breaks and tabs become spaces. Other control characters,
// bidirectional marks, invisible characters, lone surrogates and invalid bytes become U+FFFD.
[[nodiscard]] std::string clean_text(std::string_view text);

// The number of terminal columns. An East Asian wide character occupies two columns, every other
// character one. Combining marks also count as one column, so that a long run of them is still
// truncated. REQUIRES: cleaned text.
[[nodiscard]] std::size_t text_width(std::string_view text);

// True for the second and later bytes of a character in UTF-8.
[[nodiscard]] constexpr bool is_continuation(char byte) {
    return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
}

// The length in bytes of the longest prefix that fits into `width` columns. REQUIRES: cleaned text.
[[nodiscard]] std::size_t prefix_bytes(std::string_view text, std::size_t width);

// Shortens `text` to at most `width` columns. truncate_end() puts "..." at the end.
// truncate_middle() puts "..." in the middle, because both ends of a path or a qualified name
// matter. REQUIRES: cleaned text.
[[nodiscard]] std::string truncate_end(std::string_view text, std::size_t width);
[[nodiscard]] std::string truncate_middle(std::string_view text, std::size_t width);

// Wraps `text` into at most `max_lines` lines of at most `width` columns. Words longer than a line
// are truncated in the middle. REQUIRES: cleaned text, width >= 8, max_lines >= 1.
[[nodiscard]] std::vector<std::string> wrap_text(std::string_view text,
                                                 std::size_t width,
                                                 std::size_t max_lines);

// Applies clean_text() and escapes the result for HTML or XML text and quoted attributes.
[[nodiscard]] std::string escape_markup(std::string_view text);

// Applies clean_text() and escapes the result for one line of a Graphviz label. Graphviz itself
// escapes quotes when it writes the label.
[[nodiscard]] std::string escape_dot_label(std::string_view text);

// Longer names are truncated.
inline constexpr std::size_t kMaxNameColumns = 200;

// Applies clean_text(), then truncate_middle() to kMaxNameColumns.
[[nodiscard]] std::string shown_name(std::string_view text);

// "0.4 ms", "35 ms", "2.3 s", "12 min", "3.4 h".
[[nodiscard]] std::string format_duration(double seconds);
// "12,345,678".
[[nodiscard]] std::string format_count(std::uint64_t count);
// "1 cycle", "12,345 cycles". `plural` defaults to `singular` plus "s".
[[nodiscard]] std::string counted(std::uint64_t count,
                                  std::string_view singular,
                                  std::string_view plural = {});
// "a", "a and b", "a, b and c".
[[nodiscard]] std::string joined(const std::vector<std::string>& words);
// "0.03 %", "98 %", "over 1000 %".
[[nodiscard]] std::string format_percent(double share);

// "0 B", "512 B", "4.0 KiB", "1.5 GiB". Uses powers of 1024 and at most three significant digits.
[[nodiscard]] std::string format_bytes(std::uint64_t bytes);

// The last part of a dotted name: "Outer.method.<locals>.inner" -> "inner". A name without a dot,
// or with a trailing dot, is returned unchanged.
[[nodiscard]] constexpr std::string_view last_part(std::string_view name) {
    const std::size_t dot = name.rfind('.');
    return dot == std::string_view::npos || dot + 1 == name.size() ? name : name.substr(dot + 1);
}

}  // namespace cyclewatch::base
