// SPDX-License-Identifier: Apache-2.0
#include "render/renderer.h"
#include "support/sample_report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

namespace cyclewatch::render {
namespace {

TEST(Formats, HaveNoOtherNames) {
    EXPECT_FALSE(format_from_name("HTML").has_value());
    EXPECT_FALSE(format_from_name("pdf").has_value());
}

TEST(Formats, AreRecognisedBySuffix) {
    EXPECT_EQ(format_from_path("a/b.txt"), Format::text);
    EXPECT_EQ(format_from_path("report.json"), Format::json);
    EXPECT_EQ(format_from_path("x.gv"), Format::dot);
    EXPECT_EQ(format_from_path("x.dot"), Format::dot);
    EXPECT_EQ(format_from_path("x.svg"), Format::svg);
    EXPECT_EQ(format_from_path("x.htm"), Format::html);
    EXPECT_FALSE(format_from_path("x.html.gz").has_value());
    EXPECT_FALSE(format_from_path("html").has_value());
    EXPECT_FALSE(format_from_path("").has_value());
}

// Golden files: reviewed output. CYCLEWATCH_UPDATE_GOLDEN=1 rewrites them; review the diff before
// committing it.
void expect_golden(const std::string& name, const std::string& actual) {
    const std::string path = std::string(CYCLEWATCH_GOLDEN_DIR) + "/" + name;
    if (std::getenv("CYCLEWATCH_UPDATE_GOLDEN") != nullptr) {
        std::ofstream(path, std::ios::binary) << actual;
        return;
    }
    std::ifstream file(path, std::ios::binary);
    ASSERT_TRUE(file.good()) << "no golden file " << name;
    const std::string expected{std::istreambuf_iterator<char>(file), {}};
    EXPECT_EQ(actual, expected) << "differs from tests/golden/" << name
                                << "; if this is intended, run with CYCLEWATCH_UPDATE_GOLDEN=1";
}

// The drawing without its coordinates.
std::string structure_of(const std::string& svg) {
    std::string out;
    for (std::size_t at = 0; at < svg.size();) {
        const std::size_t end = std::min(svg.find('\n', at), svg.size());
        const std::string line = svg.substr(at, end - at);
        at = end + 1;
        for (const char* kept : {"<g class=", "<title", "<text", "<desc"}) {
            if (line.starts_with(kept)) {
                const bool text = line.starts_with("<text");
                out += (text ? "  text " : "") + line.substr(text ? line.find('>') + 1 : 0) + "\n";
            }
        }
    }
    return out;
}

TEST(Golden, Json) {
    expect_golden("report.json", render(testing::make_sample_report(), Format::json));
}

TEST(Golden, Dot) {
    expect_golden("report.dot", render(testing::make_sample_report(), Format::dot));
}

TEST(Golden, StructureOfSvg) {
    expect_golden("report.svg.txt",
                  structure_of(render(testing::make_sample_report(), Format::svg)));
}

}  // namespace
}  // namespace cyclewatch::render
