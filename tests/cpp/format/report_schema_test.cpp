// SPDX-License-Identifier: Apache-2.0
// Checks that docs/formats/report.schema.json has the same fields and types as the JSON renderer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "format/json.h"
#include "support/sample_report.h"

namespace cyclewatch::format {
namespace {

using nlohmann::json;

class SchemaCheck {
  public:
    explicit SchemaCheck(json schema) : root_(std::move(schema)) {}

    void check(const json& value) { check(root_, value, "report"); }
    [[nodiscard]] const std::set<std::string>& used() const { return used_; }

  private:
    void check(const json& rule, const json& value, const std::string& path) {
        if (rule.contains("$ref")) {
            const std::string name = rule["$ref"].get<std::string>().substr(8);  // "#/$defs/"
            used_.insert(name);
            check(root_["$defs"].at(name), value, path);
            return;
        }
        if (rule.contains("const")) {
            EXPECT_EQ(rule["const"], value) << path;
            return;
        }
        const std::string type = rule.at("type");
        EXPECT_FALSE(rule.value("description", "").empty() && path.back() != ']') << path;
        if (type == "object") {
            check_object(rule, value, path);
        } else if (type == "array") {
            ASSERT_TRUE(value.is_array()) << path;
            for (const json& item : value) {
                check(rule.at("items"), item, path + "[]");
            }
        } else if (type == "integer") {
            EXPECT_TRUE(value.is_number_integer()) << path;
        } else if (type == "number") {
            EXPECT_TRUE(value.is_number()) << path;
        } else if (type == "boolean") {
            EXPECT_TRUE(value.is_boolean()) << path;
        } else {
            EXPECT_EQ(type, "string") << path;
            EXPECT_TRUE(value.is_string()) << path;
            const json words = rule.value("enum", json::array({value}));
            EXPECT_THAT(words, ::testing::Contains(value)) << path;
        }
    }

    void check_object(const json& rule, const json& value, const std::string& path) {
        ASSERT_TRUE(value.is_object()) << path;
        if (rule.contains("additionalProperties")) {
            for (const auto& [name, inner] : value.items()) {
                check(rule["additionalProperties"], inner, path + "." + name);
            }
            return;
        }
        std::set<std::string> described;
        for (const auto& [name, inner] : rule.at("properties").items()) {
            described.insert(name);
        }
        std::set<std::string> required;
        for (const json& name : rule.at("required")) {
            required.insert(name.get<std::string>());
        }
        std::set<std::string> written;
        for (const auto& [name, inner] : value.items()) {
            written.insert(name);
        }
        EXPECT_TRUE(std::ranges::includes(described, written)) << path;
        EXPECT_TRUE(std::ranges::includes(written, required)) << path;
        for (const auto& [name, inner] : value.items()) {
            if (described.count(name) > 0) {
                check(rule["properties"][name], inner, path + "." + name);
            }
        }
    }

    json root_;
    std::set<std::string> used_;
};

TEST(ReportSchema, MatchesTheRenderer) {
    std::ifstream file(std::string(CYCLEWATCH_TESTS_DIR) + "/../docs/formats/report.schema.json");
    ASSERT_TRUE(file.good());
    const json schema = json::parse(file);
    SchemaCheck check(schema);
    check.check(json::parse(write_json(testing::make_sample_report())));
    for (const auto& [name, rule] : schema["$defs"].items()) {
        EXPECT_TRUE(check.used().count(name) > 0) << "the sample report has no " << name;
    }
}

}  // namespace
}  // namespace cyclewatch::format
