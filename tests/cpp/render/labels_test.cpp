// SPDX-License-Identifier: Apache-2.0
#include "render/labels.h"

#include <gtest/gtest.h>

namespace cyclewatch::render {
namespace {

const std::string kBad = "\xEF\xBF\xBD";

TEST(CleanText, LeavesNamesOfEveryScriptAlone) {
    const std::string name = "Mod\xC3\xA8le.\xE6\xA8\xA1\xE5\x9E\x8B_\xF0\x9F\x90\x8D.forward";
    EXPECT_EQ(clean_text(name), name);
}

TEST(CleanText, ShowsControlCharactersInsteadOfObeyingThem) {
    EXPECT_EQ(clean_text("a\x1b[31mb"), "a" + kBad + "[31mb");
    EXPECT_EQ(clean_text(std::string("a\0b", 3)), "a" + kBad + "b");
    EXPECT_EQ(clean_text("a\x7f"), "a" + kBad);
    EXPECT_EQ(clean_text("a\xC2\x9B"
                         "b"),
              "a" + kBad + "b");  // C1: one-byte CSI
}

TEST(CleanText, KeepsEverythingOnOneLine) {
    EXPECT_EQ(clean_text("a\nb\r\tc"), "a b  c");
    EXPECT_EQ(clean_text("a\xE2\x80\xA8"
                         "b"),
              "a" + kBad + "b");  // U+2028
}

TEST(CleanText, ReplacesMarksThatReorderOrHideText) {
    for (const std::string mark : {"\xE2\x80\xAE",
                                   "\xE2\x81\xA6",
                                   "\xE2\x80\x8F",
                                   "\xE2\x80\x8B",
                                   "\xEF\xBB\xBF",
                                   "\xD8\x9C",
                                   "\xE3\x85\xA4"}) {
        EXPECT_EQ(clean_text("a" + mark + "b"), "a" + kBad + "b");
    }
}

TEST(CleanText, ReplacesWhatIsNotUtf8) {
    EXPECT_EQ(clean_text("a\xFF"
                         "b"),
              "a" + kBad + "b");
    EXPECT_EQ(clean_text("\xC0\xAF"), kBad + kBad);                        // overlong
    EXPECT_EQ(clean_text("\xED\xA0\x80"), kBad + kBad + kBad);             // lone surrogate
    EXPECT_EQ(clean_text("\xF4\x90\x80\x80"), kBad + kBad + kBad + kBad);  // beyond Unicode
    EXPECT_EQ(clean_text("ab\xE2\x82"), "ab" + kBad + kBad);               // cut short
}

TEST(TextWidth, CountsColumnsAndNeverNothing) {
    EXPECT_EQ(text_width("abc"), 3U);
    EXPECT_EQ(text_width("\xE6\xA8\xA1"), 2U);
    EXPECT_EQ(text_width("e\xCC\x81\xCC\x81"), 3U);  // combining marks cannot pile up unseen
}

TEST(Truncate, KeepsWhatFits) {
    EXPECT_EQ(truncate_end("abcdef", 6), "abcdef");
    EXPECT_EQ(truncate_middle("abcdef", 6), "abcdef");
}

TEST(Truncate, NeverExceedsTheWidthNorSplitsACharacter) {
    const std::string wide = "\xE6\xA8\xA1\xE5\x9E\x8B\xE6\xA8\xA1\xE5\x9E\x8B\xE6\xA8\xA1";
    for (std::size_t width = 0; width < 12; ++width) {
        for (const std::string& cut : {truncate_end(wide, width), truncate_middle(wide, width)}) {
            EXPECT_LE(text_width(cut), width);
            EXPECT_EQ(clean_text(cut), cut);
        }
    }
}

TEST(Truncate, ShowsWhereSomethingIsMissing) {
    EXPECT_EQ(truncate_end("abcdefghij", 7), "abcd...");
    EXPECT_EQ(truncate_middle("abcdefghij", 7), "ab...ij");
}

TEST(WrapText, BreaksAtSpacesAndShortensLongWords) {
    EXPECT_EQ(wrap_text("one two three", 8, 9), (std::vector<std::string>{"one two", "three"}));
    EXPECT_EQ(wrap_text("abcdefghijkl", 9, 9), (std::vector<std::string>{"abc...jkl"}));
}

TEST(WrapText, KeepsAFigureAndItsUnitTogether) {
    EXPECT_EQ(wrap_text("at once (89 %); in 4.0 MiB, 12 things", 12, 9),
              (std::vector<std::string>{"at once", "(89 %); in", "4.0 MiB, 12", "things"}));
    EXPECT_EQ(wrap_text("room 12 small", 9, 9), (std::vector<std::string>{"room 12", "small"}));
}

TEST(WrapText, SaysWhenLinesAreMissing) {
    const auto lines = wrap_text("aaaa bbbb cccc dddd eeee", 9, 2);
    ASSERT_EQ(lines.size(), 2U);
    EXPECT_EQ(lines[0], "aaaa bbbb");
    EXPECT_TRUE(lines[1].ends_with("..."));
    EXPECT_LE(lines[1].size(), 9U);
}

TEST(EscapeMarkup, LeavesNothingThatABrowserActsOn) {
    EXPECT_EQ(escape_markup("<a b=\"c\" d='e'>&`"),
              "&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;&#96;");
}

TEST(EscapeDotLabel, LeavesNothingThatGraphvizActsOn) {
    EXPECT_EQ(escape_dot_label("\\N &lt; \\l"), "\\\\N &amp;lt; \\\\l");
}

TEST(ShownName, CutsANameOfAnyLength) {
    const std::string name = shown_name("start" + std::string(5'000'000, 'x') + "end");
    EXPECT_EQ(text_width(name), kMaxNameColumns);
    EXPECT_TRUE(name.starts_with("start"));
    EXPECT_TRUE(name.ends_with("end"));
}

}  // namespace
}  // namespace cyclewatch::render
