// SPDX-License-Identifier: Apache-2.0
// What a terminal shows. Pure ASCII apart from names that are not; no colours.
#pragma once

#include <string>

#include "model/report.h"
#include "render/renderer.h"

namespace cyclewatch::render {

inline constexpr std::size_t kMaxCardLines = 25;

// The sentence, then cards heaviest first, then the overhead line and the notes.
[[nodiscard]] std::string render_text(const model::Report& report, std::size_t width = kUsualWidth);

}  // namespace cyclewatch::render
