// SPDX-License-Identifier: Apache-2.0
#include "render/html_shell.h"

#include <algorithm>
#include <array>
#include <utility>

namespace cyclewatch::render {
namespace {

constexpr std::string_view kGapStart = "<!--fill:";
constexpr std::string_view kGapEnd = "-->";

using Part = std::pair<std::string_view, const std::string PageParts::*>;
constexpr std::array kParts{
    Part{"title", &PageParts::title},
    Part{"opening", &PageParts::opening},
    Part{"ranks", &PageParts::ranks},
    Part{"findings", &PageParts::findings},
    Part{"closing", &PageParts::closing},
    Part{"report", &PageParts::report},
};

}  // namespace

std::string fill_shell(std::string_view shell, const PageParts& parts) {
    std::string page;
    std::size_t size = shell.size();
    for (const auto& [name, part] : kParts) {
        size += (parts.*part).size();
    }
    page.reserve(size);
    while (true) {
        const std::size_t gap = shell.find(kGapStart);
        page.append(shell.substr(0, gap));
        const std::size_t end = gap == std::string_view::npos ? gap : shell.find(kGapEnd, gap);
        if (end == std::string_view::npos) {
            return page;
        }
        const std::size_t name_start = gap + kGapStart.size();
        const std::string_view name = shell.substr(name_start, end - name_start);
        const auto found = std::find_if(
            kParts.begin(), kParts.end(), [&](const Part& part) { return part.first == name; });
        if (found != kParts.end()) {
            page.append(parts.*found->second);
        }
        shell.remove_prefix(end + kGapEnd.size());
    }
}

}  // namespace cyclewatch::render
