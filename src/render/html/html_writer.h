// SPDX-License-Identifier: Apache-2.0
// Builds the markup of the page. These functions escape their `text` parameters, which may contain
// names from the watched program.
#pragma once

#include <string>
#include <string_view>

namespace cyclewatch::render {

// <tag class="style">text</tag>; no class attribute if `style` is empty.
[[nodiscard]] std::string element(std::string_view tag,
                                  std::string_view style,
                                  std::string_view text);

// Like element(), but for markup that is already escaped.
[[nodiscard]] std::string wrap_markup(std::string_view tag,
                                      std::string_view style,
                                      std::string_view markup);

// shown_name() in <code>, with line break opportunities after separators.
[[nodiscard]] std::string code(std::string_view name, std::string_view style = {});

// A sentence, truncated to 600 columns. Text between backticks is shown in <code>.
[[nodiscard]] std::string prose(std::string_view sentence);

// The title of a cycle, with line break opportunities.
[[nodiscard]] std::string title_markup(std::string_view title);

// A table that scrolls horizontally inside a box. `head` and `rows` are markup.
[[nodiscard]] std::string scrolling_table(std::string_view caption,
                                          std::string_view head,
                                          std::string_view rows);

}  // namespace cyclewatch::render
