// SPDX-License-Identifier: Apache-2.0
#include "base/code_roots.h"
#include "base/index.h"
#include "base/source_path.h"
#include "base/stable_hash.h"
#include "base/text.h"

#include <gtest/gtest.h>
#include <vector>

namespace cyclewatch::base {
namespace {

enum class Letter : std::uint32_t {};
enum class Digit : std::uint32_t {};
static_assert(!std::is_convertible_v<Letter, Digit>);
static_assert(!std::is_invocable_v<decltype(&index_of<Letter>), Digit>);
static_assert(std::ranges::bidirectional_range<IndexRange<Letter>>);

TEST(Index, NumbersTheElementsOfAVector) {
    IndexedVector<Letter, Digit> digits(3, kNone);
    EXPECT_EQ(digits[Letter{2}], kNone);
    digits.push_back(Digit{7});
    EXPECT_EQ(digits.index_at(std::ranges::find(digits, Digit{7})), Letter{3});
    EXPECT_EQ(digits.end_index(), Letter{4});
    std::vector<Letter> backwards;
    for (const Letter letter : Reversed{digits.indexes()}) {
        backwards.push_back(letter);
    }
    EXPECT_EQ(backwards, (std::vector{Letter{3}, Letter{2}, Letter{1}, Letter{0}}));
    IndexRange<Letter> left(Letter{2}, Letter{3});
    EXPECT_EQ(left.pop_front(), Letter{2});
    EXPECT_TRUE(left.empty());
}

TEST(IndexSet, GrowsWithItsIndexes) {
    IndexSet<Letter> letters;
    EXPECT_FALSE(letters.contains(Letter{1000}));
    EXPECT_TRUE(letters.insert(Letter{5}));
    EXPECT_FALSE(letters.insert(Letter{5}));
    EXPECT_TRUE(letters.contains(Letter{5}) && !letters.contains(Letter{4}));
    letters.erase(std::vector{Letter{5}});
    EXPECT_TRUE(letters.empty());
}

TEST(FormatBytes, HasAtMostFourDigits) {
    const std::pair<std::uint64_t, const char*> cases[] = {
        {0, "0 B"},
        {1023, "1023 B"},
        {1024, "1.0 KiB"},
        {1536, "1.5 KiB"},
        {102'400 - 1, "100 KiB"},
        {200 * 1024, "200 KiB"},
        {1023 * 1024, "1023 KiB"},
        {1024 * 1024 - 1, "1.0 MiB"},  // not "1024 KiB"
        {3ULL << 29, "1.5 GiB"},
        {UINT64_MAX, "16.0 EiB"},
    };
    for (const auto& [bytes, text] : cases) {
        EXPECT_EQ(format_bytes(bytes), text);
    }
}

CallSite chosen(const std::vector<CallSite>& calls) {
    CallChoice choice;
    for (const CallSite& call : calls) {
        if (!choice.offer(call)) {
            break;
        }
    }
    return choice.take();
}

TEST(CallChoice, PrefersTheInnermostFrameOfUserCode) {
    EXPECT_EQ(chosen({{"/v/site-packages/torch/nn/init.py", 1},
                      {"/usr/lib/python3.11/functools.py", 2},
                      {"/me/model.py", 3},
                      {"/me/train.py", 4}}),
              (CallSite{"/me/model.py", 3}));
}

TEST(CallChoice, IsTheInnermostKnownFrameIfThereIsNoUserCode) {
    EXPECT_EQ(chosen({{"", 1},
                      {"/site-packages/a.py", 0},
                      {"/site-packages/b.py", 7},
                      {"/site-packages/c.py", 8}}),
              (CallSite{"/site-packages/b.py", 7}));
    EXPECT_EQ(chosen({}), CallSite{});
    EXPECT_EQ(text_of(CallSite{}), "");
    EXPECT_EQ(text_of({"/me/model.py", 3}), "/me/model.py:3");
}

TEST(OriginOfPath, IsThatOfTheInnermostRoot) {
    EXPECT_EQ(origin_of_path("/app/vendor/lib/core.py"), Origin::user) << "no roots yet";
    set_code_roots({{"/app", Origin::user},
                    {"/app/.venv/lib/site-packages", Origin::library},
                    {"/app/.venv/lib/site-packages/app", Origin::user},
                    {"/app/vendor/lib", Origin::library},
                    {"/app/vendor/six.py", Origin::library},
                    {"/python", Origin::standard_library}});
    EXPECT_EQ(origin_of_path("/app/train.py"), Origin::user);
    EXPECT_EQ(origin_of_path("/app/.venv/lib/site-packages/torch/nn.py"), Origin::library);
    EXPECT_EQ(origin_of_path("/app/.venv/lib/site-packages/app/train.py"), Origin::user);
    EXPECT_EQ(origin_of_path("/app/vendor/lib/core.py"), Origin::library);
    EXPECT_EQ(origin_of_path("/app/vendor/library.py"), Origin::user) << "only a whole name counts";
    EXPECT_EQ(origin_of_path("/app/vendor/six.py"), Origin::library);
    EXPECT_EQ(origin_of_path("/python/os.py"), Origin::standard_library);
    // Names decide only outside of all roots.
    EXPECT_EQ(origin_of_path("/app/site-packages/ours.py"), Origin::user);
    EXPECT_EQ(origin_of_path("/other/site-packages/torch/nn.py"), Origin::library);
    EXPECT_EQ(origin_of_path("train.py"), Origin::user);
    EXPECT_EQ(origin_of_path(""), Origin::user);
    set_code_roots({});
    EXPECT_EQ(origin_of_path("/app/vendor/lib/core.py"), Origin::user);
}

TEST(StableHash, DependsOnTheBoundariesBetweenTexts) {
    EXPECT_NE(StableHash().add("ab").add("c").value(), StableHash().add("a").add("bc").value());
    EXPECT_NE(StableHash().add("a").value(), StableHash().add("a").add("").value());
    EXPECT_EQ(StableHash().add("a").add("b").value(), StableHash().add("a").add("b").value());
}

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
    EXPECT_EQ(escape_dot_label("\\N &lt; \"l\""), "\\\\N &amp;lt; \"l\"");
}

TEST(ShownName, TruncatesLongNames) {
    const std::string name = shown_name("start" + std::string(5'000'000, 'x') + "end");
    EXPECT_EQ(text_width(name), kMaxNameColumns);
    EXPECT_TRUE(name.starts_with("start"));
    EXPECT_TRUE(name.ends_with("end"));
}

}  // namespace
}  // namespace cyclewatch::base
