// SPDX-License-Identifier: Apache-2.0
#include "base/json_value.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <variant>

namespace cyclewatch::base {
namespace {

TEST(JsonValue, HoldsEveryKindOfValue) {
    const JsonOutcome outcome =
        parse_json(R"({"n": null, "b": true, "u": 18446744073709551615, "i": -3, "d": 0.5,
                       "t": "a\u00e9", "l": [1, [], {}], "o": {"x": 2}})");
    ASSERT_EQ(outcome.error, JsonOutcome::Error::none);
    const JsonValue& value = outcome.value;
    EXPECT_NE(value.find("n")->as<std::monostate>(), nullptr);
    EXPECT_TRUE(*value.find("b")->as<bool>());
    EXPECT_EQ(*value.find("u")->as<std::uint64_t>(), UINT64_MAX);
    EXPECT_EQ(*value.find("i")->as<std::int64_t>(), -3);
    EXPECT_EQ(*value.find("d")->as<double>(), 0.5);
    EXPECT_EQ(*value.find("t")->as<std::string>(), "a\xc3\xa9");
    const auto& list = *value.find("l")->as<JsonValue::List>();
    ASSERT_EQ(list.size(), 3U);
    EXPECT_EQ(*list[0].as<std::uint64_t>(), 1U);
    EXPECT_TRUE(list[1].as<JsonValue::List>()->empty());
    EXPECT_TRUE(list[2].as<JsonValue::Object>()->empty());
    EXPECT_EQ(*value.find("o")->find("x")->as<std::uint64_t>(), 2U);
    EXPECT_EQ(value.find("missing"), nullptr);
    EXPECT_EQ(list[0].find("n"), nullptr);
}

TEST(JsonValue, TheLastOfEqualNamesCounts) {
    const JsonOutcome outcome = parse_json(R"({"a": 1, "b": 2, "a": 3})");
    EXPECT_EQ(*outcome.value.find("a")->as<std::uint64_t>(), 3U);
}

TEST(JsonValue, SaysWhatIsWrongAndWhere) {
    const JsonOutcome syntax = parse_json("[1, x]");
    EXPECT_EQ(syntax.error, JsonOutcome::Error::syntax);
    EXPECT_EQ(syntax.position, 5U);
    EXPECT_EQ(parse_json("").error, JsonOutcome::Error::syntax);
    EXPECT_EQ(parse_json("[1] 2").error, JsonOutcome::Error::syntax);
    EXPECT_EQ(parse_json("[1e999]").error, JsonOutcome::Error::number_too_large);
}

TEST(JsonValue, StopsAtTheLimitOfDepth) {
    const std::string deepest(kMaxJsonDepth, '[');
    EXPECT_EQ(parse_json(deepest + std::string(kMaxJsonDepth, ']')).error,
              JsonOutcome::Error::none);
    EXPECT_EQ(parse_json("[" + deepest).error, JsonOutcome::Error::too_deep);
    EXPECT_EQ(parse_json(std::string(1'000'000, '[')).error, JsonOutcome::Error::too_deep);
}

}  // namespace
}  // namespace cyclewatch::base
