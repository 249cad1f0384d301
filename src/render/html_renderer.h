// SPDX-License-Identifier: Apache-2.0
// One self-contained page: everything there is to read is markup made here, the shell from viewer/
// adds style and what needs a hand, and the report itself rides along as JSON. Nothing is loaded
// from anywhere, and with scripts off only the tools are missing.
#pragma once

#include <string>

#include "model/report.h"
#include "render/html_shell.h"

namespace cyclewatch::render {

// What render_html() fills into the shell.
[[nodiscard]] PageParts page_parts(const model::Report& report);

[[nodiscard]] std::string render_html(const model::Report& report);

}  // namespace cyclewatch::render
