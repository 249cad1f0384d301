// SPDX-License-Identifier: Apache-2.0
// The few ways in which the page is put together. Text is escaped here and nowhere else:
// whatever these take as `text` may come from the watched program.
#pragma once

#include <string>
#include <string_view>

namespace cyclewatch::render {

// <tag class="style">text</tag>; no class attribute if `style` is empty.
[[nodiscard]] std::string element(std::string_view tag,
                                  std::string_view style,
                                  std::string_view text);

// The same around markup that is already safe.
[[nodiscard]] std::string wrap_markup(std::string_view tag,
                                      std::string_view style,
                                      std::string_view markup);

// A name of the program in <code>, cut to a sensible length, with places to break the line.
[[nodiscard]] std::string code(std::string_view name, std::string_view style = {});

// A cycle's title with real arrows.
[[nodiscard]] std::string title_markup(std::string_view title);

// A table that scrolls inside its own box, so that the page never does. `head` and `rows` are
// markup.
[[nodiscard]] std::string scrolling_table(std::string_view caption,
                                          std::string_view head,
                                          std::string_view rows);

}  // namespace cyclewatch::render
