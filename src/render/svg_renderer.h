// SPDX-License-Identifier: Apache-2.0
// SVG through gvc: the picture of every finding laid out by dot, one below the other.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"
#include "model/report.h"

namespace cyclewatch::render {

// A standalone document, readable in light and in dark.
[[nodiscard]] base::Result<std::string> render_svg(const model::Report& report);

struct Drawing {
    std::string body;  // what goes into an <svg> element
    double left = 0;   // the view box, in points
    double top = 0;
    double width = 0;
    double height = 0;
};

// The picture of one finding alone. Ids in it begin with "f<rank>".
[[nodiscard]] base::Result<Drawing> draw_picture(const model::Finding& finding, std::size_t rank);

}  // namespace cyclewatch::render
