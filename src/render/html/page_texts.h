// SPDX-License-Identifier: Apache-2.0
// What the page shows besides the report: the sentences that it shares with the other formats, the
// pictures, and the explanations of built-in patterns. The page embeds them as JSON beside the
// report. They are not part of the report format, and load_report() ignores them.
// viewer/src/report/texts.ts declares the same fields.
#pragma once

#include <cstddef>
#include <string>

#include "model/report.h"

namespace cyclewatch::render {

// Compressed, this is about a tenth.
inline constexpr std::size_t kMostPictureBytes = 8'000'000;

// JSON on one line. The texts are neither cleaned nor escaped, except in the markup of pictures.
// Once the pictures have `most_picture_bytes`, the remaining findings have none.
[[nodiscard]] std::string page_texts(const model::Report& report,
                                     std::size_t most_picture_bytes = kMostPictureBytes);

}  // namespace cyclewatch::render
