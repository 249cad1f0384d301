// SPDX-License-Identifier: Apache-2.0
// Names and numbers as text, shared by every format: truncation, escaping, units. Whatever the
// watched program named its types and variables, what comes out of here is one line of valid UTF-8
// that a reader can see, and that no terminal, browser or layout engine takes for an instruction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cyclewatch::render {

// Valid UTF-8 on one line. Line breaks and tabs become a space; other control characters,
// bidirectional marks, invisible characters, lone surrogates and invalid bytes become U+FFFD.
[[nodiscard]] std::string clean_text(std::string_view text);

// Columns of a terminal: two for East Asian wide characters, one for everything else. Combining
// marks count too, so that no text is long and "narrow" at once. REQUIRES: cleaned text.
[[nodiscard]] std::size_t text_width(std::string_view text);

// At most `width` columns; what is left out is replaced by "..." at the end, or in the middle,
// where both ends matter (paths, qualified names). REQUIRES: cleaned text.
[[nodiscard]] std::string truncate_end(std::string_view text, std::size_t width);
[[nodiscard]] std::string truncate_middle(std::string_view text, std::size_t width);

// Lines of at most `width` columns, at most `max_lines` of them; words longer than a line are
// shortened in their middle. REQUIRES: cleaned text, width >= 8, max_lines >= 1.
[[nodiscard]] std::vector<std::string> wrap_text(std::string_view text,
                                                 std::size_t width,
                                                 std::size_t max_lines);

// Cleaned, and safe as HTML or XML text and inside a quoted attribute of either.
[[nodiscard]] std::string escape_markup(std::string_view text);

// Cleaned, and safe as one line of a Graphviz label: a backslash starts no escape there and an
// ampersand no entity. (Quoting is the DOT writer's business.)
[[nodiscard]] std::string escape_dot_label(std::string_view text);

// Longest name that a report shows in full; anything longer is an attack or a mistake.
inline constexpr std::size_t kMaxNameColumns = 200;

// clean_text, then truncate_middle to kMaxNameColumns: what most names go through.
[[nodiscard]] std::string shown_name(std::string_view text);

// "0.4 ms", "35 ms", "2.3 s", "12 min", "3.4 h".
[[nodiscard]] std::string format_duration(double seconds);
// "12,345,678".
[[nodiscard]] std::string format_count(std::uint64_t count);
// "1 cycle", "12,345 cycles". `plural` defaults to the singular and an s.
[[nodiscard]] std::string counted(std::uint64_t count,
                                  std::string_view singular,
                                  std::string_view plural = {});
// "0.03 %", "98 %", "over 1000 %"; never a long tail of digits.
[[nodiscard]] std::string format_percent(double share);

}  // namespace cyclewatch::render
