// SPDX-License-Identifier: Apache-2.0
// One self-contained page: no scripts, no fonts, no network; the report itself rides along as
// JSON. Opens from a file, prints, and reads in light and in dark.
#pragma once

#include <string>

#include "model/report.h"

namespace cyclewatch::render {

// Never fails: where Graphviz cannot draw a picture, the page says so in its place.
[[nodiscard]] std::string render_html(const model::Report& report);

}  // namespace cyclewatch::render
