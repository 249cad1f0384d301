// SPDX-License-Identifier: Apache-2.0
// The page around a report: its policy, style and script, bundled from viewer/ into one file
// with gaps in it.
#pragma once

#include <string>
#include <string_view>

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

}  // namespace cyclewatch::render
