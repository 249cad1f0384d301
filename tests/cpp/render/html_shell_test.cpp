// SPDX-License-Identifier: Apache-2.0
#include "render/html/html_renderer.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

namespace cyclewatch::render {
namespace {

const PageParts kParts{{"title", "title"},
                       {"opening", "opening"},
                       {"ranks", "ranks"},
                       {"findings", "findings"},
                       {"closing", "closing"},
                       {"report", "report"}};

TEST(Shell, IsTheCommittedFile) {
    std::ifstream file(std::string(CYCLEWATCH_TESTS_DIR) + "/../viewer/shell.html",
                       std::ios::binary);
    ASSERT_TRUE(file.good());
    const std::string committed{std::istreambuf_iterator<char>(file), {}};
    EXPECT_TRUE(page_shell() == committed);
}

TEST(Shell, HasAPlaceholderForEveryPart) {
    const std::string page = fill_shell(page_shell(), kParts);
    EXPECT_EQ(page.find("<!--"), std::string::npos);
    EXPECT_NE(page.find("<title>title</title>"), std::string::npos);
    std::size_t at = 0;
    for (const char* part :
         {"\nopening\n", "\nranks\n", "\nfindings\n", "\nclosing\n", "\nreport\n"}) {
        at = page.find(part, at);
        EXPECT_NE(at, std::string::npos) << part;
    }
}

TEST(Shell, ReplacesOnlyPlaceholders) {
    EXPECT_EQ(fill_shell("a<!--fill:title-->b<!--fill:none-->c<!-- d -->", kParts),
              "atitlebc<!-- d -->");
    EXPECT_EQ(fill_shell("", kParts), "");
    // Inserted text is not expanded again.
    EXPECT_EQ(fill_shell("<!--fill:title-->",
                         PageParts{{"title", "<!--fill:closing-->"}, {"closing", "x"}}),
              "<!--fill:closing-->");
    EXPECT_EQ(fill_shell("a<!--fill:title", kParts), "a");
}

}  // namespace
}  // namespace cyclewatch::render
