// SPDX-License-Identifier: Apache-2.0
// The pictures of all findings as one SVG document, one below the other.
#pragma once

#include <string>

#include "model/report.h"

namespace cyclewatch::render {

// A standalone document, readable in light and in dark.
[[nodiscard]] std::string render_svg(const model::Report& report);

}  // namespace cyclewatch::render
