// SPDX-License-Identifier: Apache-2.0
// One self-contained page: everything there is to read is markup made here, the shell from viewer/
// adds style and what needs a hand, and the report itself rides along as JSON. Nothing is loaded
// from anywhere, and with scripts off only the tools are missing.
#pragma once

#include <string>
#include <string_view>

#include "model/report.h"

namespace cyclewatch::render {

// What goes into the gaps; all of it markup, except the title, which is escaped text.
struct PageParts {
    std::string title;
    std::string opening;
    std::string ranks;
    std::string findings;
    std::string closing;
    std::string report;
};

// viewer/shell.html as it was when this was built.
[[nodiscard]] std::string_view page_shell();

// A gap reads `<!--fill:opening-->` and so on. One that names no part is left empty.
[[nodiscard]] std::string fill_shell(std::string_view shell, const PageParts& parts);

// What render_html() fills into the shell.
[[nodiscard]] PageParts page_parts(const model::Report& report);

[[nodiscard]] std::string render_html(const model::Report& report);

}  // namespace cyclewatch::render
