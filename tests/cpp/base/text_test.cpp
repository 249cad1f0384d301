// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <gtest/gtest.h>

namespace cyclewatch::base {
namespace {

const std::string kBad = "\xEF\xBF\xBD";

TEST(CleanText, ReturnsOneLineOfVisibleUtf8) {
    struct Case {
        std::string text;
        std::string clean;
    };
    const std::string name = "Mod\xC3\xA8le.\xE6\xA8\xA1\xE5\x9E\x8B_\xF0\x9F\x90\x8D.forward";
    for (const auto& [text, clean] : {
             Case{name, name},
             Case{"a\x1b[31mb", "a" + kBad + "[31mb"},
             Case{std::string("a\0b", 3), "a" + kBad + "b"},
             Case{"a\x7f", "a" + kBad},
             Case{"a\xC2\x9B.", "a" + kBad + "."},  // C1: one-byte CSI
             Case{"a\nb\r\tc", "a b  c"},
             Case{"a\xE2\x80\xA8.", "a" + kBad + "."},  // line separator
             Case{"a\xE2\x80\xAE.", "a" + kBad + "."},  // directional marks
             Case{"a\xE2\x81\xA6.", "a" + kBad + "."},
             Case{"a\xE2\x80\x8F.", "a" + kBad + "."},
             Case{"a\xD8\x9C.", "a" + kBad + "."},
             Case{"a\xE2\x80\x8B.", "a" + kBad + "."},  // invisible characters
             Case{"a\xEF\xBB\xBF.", "a" + kBad + "."},
             Case{"a\xE3\x85\xA4.", "a" + kBad + "."},
             Case{"a\xFF.", "a" + kBad + "."},
             Case{"\xC0\xAF", kBad + kBad},                        // overlong
             Case{"\xED\xA0\x80", kBad + kBad + kBad},             // lone surrogate
             Case{"\xF4\x90\x80\x80", kBad + kBad + kBad + kBad},  // beyond Unicode
             Case{"ab\xE2\x82", "ab" + kBad + kBad},               // truncated
         }) {
        EXPECT_EQ(clean_text(text), clean) << text;
    }
}

TEST(TextWidth, CountsColumns) {
    EXPECT_EQ(text_width("abc"), 3U);
    EXPECT_EQ(text_width("\xE6\xA8\xA1"), 2U);
    EXPECT_EQ(text_width("e\xCC\x81\xCC\x81"), 3U);  // combining marks count
}

TEST(Truncate, FitsTheWidthAndSplitsNoCharacter) {
    const std::string wide = "\xE6\xA8\xA1\xE5\x9E\x8B\xE6\xA8\xA1\xE5\x9E\x8B\xE6\xA8\xA1";
    for (std::size_t width = 0; width < 12; ++width) {
        for (const std::string& cut : {truncate_end(wide, width), truncate_middle(wide, width)}) {
            EXPECT_LE(text_width(cut), width);
            EXPECT_EQ(clean_text(cut), cut);
        }
    }
}

TEST(Truncate, MarksTheOmission) {
    EXPECT_EQ(truncate_end("abcdef", 6), "abcdef");
    EXPECT_EQ(truncate_middle("abcdef", 6), "abcdef");
    EXPECT_EQ(truncate_end("abcdefghij", 7), "abcd...");
    EXPECT_EQ(truncate_middle("abcdefghij", 7), "ab...ij");
}

TEST(WrapText, BreaksAtSpacesAndShortensLongWords) {
    EXPECT_EQ(wrap_text("one two three", 8, 9), (std::vector<std::string>{"one two", "three"}));
    EXPECT_EQ(wrap_text("abcdefghijkl", 9, 9), (std::vector<std::string>{"abc...jkl"}));
}

TEST(WrapText, MarksOmittedLines) {
    const auto lines = wrap_text("aaaa bbbb cccc dddd eeee", 9, 2);
    ASSERT_EQ(lines.size(), 2U);
    EXPECT_EQ(lines[0], "aaaa bbbb");
    EXPECT_TRUE(lines[1].ends_with("..."));
    EXPECT_LE(lines[1].size(), 9U);
}

TEST(Escape, EscapesMarkupAndGraphvizSyntax) {
    EXPECT_EQ(escape_markup("<a b=\"c\" d='e'>&`"),
              "&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;&#96;");
    EXPECT_EQ(escape_dot_label("\\N &lt; \"l\""), "\\\\N &amp;lt; \\\"l\\\"");
}

TEST(ShownName, TruncatesLongNames) {
    const std::string name = shown_name("start" + std::string(5'000'000, 'x') + "end");
    EXPECT_EQ(text_width(name), kMaxNameColumns);
    EXPECT_TRUE(name.starts_with("start"));
    EXPECT_TRUE(name.ends_with("end"));
}

}  // namespace
}  // namespace cyclewatch::base
