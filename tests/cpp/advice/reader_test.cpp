// SPDX-License-Identifier: Apache-2.0
#include "advice/reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cyclewatch::advice {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::vector<std::string> kKnown{"back-pointer", "unknown"};

constexpr const char* kSound =
    R"({"id": "mine", "title": "T", "explanation": "why {variable}", "steps": [{"label": ".x"}]})";

Contents with_pattern(const std::string& pattern) {
    return read("{\"pattern\": [" + pattern + "]}", &kKnown);
}

// The pattern above with `key` set to `value`.
std::string changed(const std::string& key, const std::string& value) {
    return std::string(kSound).insert(1, "\"" + key + "\": " + value + ", ");
}

TEST(Reader, ReadsAPattern) {
    const Contents contents = read(
        R"({"pattern": [{"id": "mine", "title": "T", "shape": "S", "explanation": "E", "advice": "A",
            "variants": {"other": {"advice": "B"}}, "before": "x", "after": "y", "links": ["l"],
            "tags": ["benign"], "library": {"package": "torch", "versions": ">=2"},
            "steps": [{"holder": "h", "label": "l", "target": "t"}],
            "suggests": {"label": "closure:*"}}]})",
        nullptr);
    ASSERT_THAT(contents.problems, IsEmpty());
    const Pattern& pattern = contents.patterns.at(0);
    EXPECT_EQ(pattern.variants.at("other").explanation, "E") << "inherited from the pattern";
    EXPECT_EQ(pattern.variants.at("other").advice, "B");
    EXPECT_EQ(pattern.steps.at(0).target, "t");
    EXPECT_EQ(pattern.suggests->holder, "*");
    EXPECT_THAT(pattern.tags(), ElementsAre("benign", "library"));
    EXPECT_TRUE(pattern.library->range.contains(*parse_version("2.1")));
}

TEST(Reader, ReportsAnInvalidPatternAndReadsTheOthers) {
    const std::string sound = std::string(", ") + kSound;
    const struct {
        std::string pattern;
        const char* sentence;
    } cases[] = {
        {R"({"title": "T"})", "pattern[0] needs id = \"...\""},
        {R"("text")", "pattern[0] is not a table"},
        {R"({"id": 3})", "pattern[0].id is not a string"},
        {R"({"id": "a", "titel": "T"})", "pattern[0] has no key \"titel\"; the keys are id, title"},
        {R"({"id": "a", "title": "T", "explanation": "{who}", "steps": []})",
         "pattern[0].explanation has an unknown slot {who}; the slots are {holder}"},
        {R"({"id": "a", "title": "T", "explanation": "E"})",
         "pattern[0] does not describe a cycle"},
        {R"({"id": "unknown", "title": "T", "explanation": "E", "steps": [{}]})",
         "pattern[0].id = \"unknown\" is already used"},
        {R"({"id": "a", "title": "T", "explanation": "E", "steps": [{"lable": "x"}]})",
         "pattern[0].steps[0] has no key \"lable\"; the keys are holder, label, target"},
        {R"({"id": "a", "title": "T", "explanation": "E", "links": [1], "steps": [{}]})",
         "pattern[0].links has an entry that is not a string"},
        {R"({"id": "a", "title": "T", "explanation": "E", "steps": {}})",
         "pattern[0].steps is not a list"},
        {R"({"id": "a", "title": "T", "explanation": "E", "tags": ["odd"]})",
         "pattern[0].tags has an unknown tag \"odd\"; the only tag is \"benign\""},
        {R"({"id": "a", "title": "T", "explanation": "E",
             "library": {"package": "p", "versions": "new"}})",
         "pattern[0].library.versions is not a version range"},
        {R"({"id": "a", "title": "T", "explanation": "E", "variants": {"v": 1}, "steps": [{}]})",
         "pattern[0].variants.v is not a table"},
        {R"({"id": "a", "title": "T", "explanation": "E", "variants": {"v": {}}, "steps": [{}]})",
         "pattern[0] has variants"},
    };
    for (const auto& one : cases) {
        const Contents contents = with_pattern(one.pattern + sound);
        EXPECT_THAT(contents.problems, ElementsAre(HasSubstr(one.sentence)));
        ASSERT_EQ(contents.patterns.size(), 1U) << one.sentence;
        EXPECT_EQ(contents.patterns[0].id, "mine");
    }
}

TEST(Reader, RejectsDuplicateIds) {
    const Contents contents = with_pattern(std::string(kSound) + ", " + kSound);
    EXPECT_THAT(contents.problems,
                ElementsAre(HasSubstr("pattern[1].id = \"mine\" is already used")));
    EXPECT_THAT(with_pattern(changed("version", "1")).problems,
                ElementsAre(HasSubstr("no key \"version\"")));
}

TEST(Reader, ReadsSuppressions) {
    const Contents contents = read(R"({"pattern": [)" + std::string(kSound) + R"(], "ignore": [
            {"signature": "cw1-0123456789abcdef", "reason": "r"},
            {"pattern": "mine", "reason": "r"},
            {"pattern": "back-pointer"},
            {"pattern": "back-pionter", "reason": "r"},
            {"signature": "cw1-0123", "reason": "r"},
            {"reason": "r"}]})",
                                   &kKnown);
    EXPECT_EQ(contents.suppressions.size(), 2U);
    EXPECT_THAT(
        contents.problems,
        ElementsAre(HasSubstr("ignore[2]: a reason is required"),
                    HasSubstr("ignore[3]: \"back-pionter\" is not a pattern; the patterns are "
                              "back-pointer, unknown, mine"),
                    HasSubstr("ignore[4]: \"cw1-0123\" is not a signature"),
                    HasSubstr("ignore[5]: a signature or a pattern is required")));
}

TEST(Reader, RejectsInvalidDocuments) {
    for (const char* text : {"", "[", "3", "[]", R"({"pattern": 3})", R"({"ignore": "x"})"}) {
        const Contents contents = read(text, &kKnown);
        EXPECT_EQ(contents.problems.size(), 1U) << text;
        EXPECT_THAT(contents.patterns, IsEmpty());
    }
    EXPECT_THAT(read("{}", &kKnown).problems, IsEmpty());
}

}  // namespace
}  // namespace cyclewatch::advice
