// SPDX-License-Identifier: Apache-2.0
// What drawings write into and about a picture, and how much of it they show.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "model/finding.h"

namespace cyclewatch::render {

// The analysis makes no larger picture, but a report that was read from a file may hold one: what
// goes beyond is left out.
inline constexpr std::size_t kMaxDrawnItems = 40;
inline constexpr std::size_t kMaxDrawnArrows = 150;
// Nobody looks at more pictures; a document counts the rest.
inline constexpr std::size_t kMaxDrawnFindings = 50;

// Objects that a drawing of `picture` leaves out, with those that the picture itself leaves out.
[[nodiscard]] std::uint64_t undrawn_items(const model::Picture& picture);

// What is written into a box and on an arrow, already cut to length; not yet escaped.
struct BoxText {
    std::string name;
    std::string second_line;
};
[[nodiscard]] BoxText box_text(const model::Picture::Item& item);
[[nodiscard]] std::string arrow_text(const model::Picture::Arrow& arrow);

// What the picture shows, for those who cannot see it; not yet escaped.
[[nodiscard]] std::string describe_picture(const model::Picture& picture);

}  // namespace cyclewatch::render
