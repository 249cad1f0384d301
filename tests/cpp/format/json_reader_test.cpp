// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "format/direct_reader.h"
#include "format/json.h"
#include "render/renderer.h"
#include "support/hostile_names.h"
#include "support/sample_report.h"

namespace cyclewatch::format {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

json sample() {
    return json::parse(write_json(testing::make_sample_report()));
}

std::string error_of(std::string_view contents) {
    const auto loaded = render::load_report(contents);
    return loaded ? "no error" : loaded.error();
}

void expect_round_trip(const model::Report& report, render::Format format) {
    const auto loaded = render::load_report(render::render(report, format));
    ASSERT_TRUE(loaded.ok()) << loaded.error();
    EXPECT_EQ(loaded.value(), report);
}

TEST(LoadReport, RoundTrips) {
    for (const render::Format format : {render::Format::json, render::Format::html}) {
        expect_round_trip(testing::make_sample_report(), format);
        expect_round_trip(testing::make_merged_report(), format);
    }
}

TEST(LoadReport, DistinguishesAllFields) {
    // Set all fields to distinct values: if the reader drops a field or confuses two, a value
    // changes.
    json document = sample();
    int next = 1;
    const auto number = [&next](auto& self, json& value) -> void {
        if (value.is_structured()) {
            for (auto& [name, inner] : value.items()) {
                // Enumerations.
                const bool is_word = inner.is_string() &&
                                     (name == "status" || name == "verdict" || name == "source" ||
                                      name == "collected" || name == "unit" || name == "kind" ||
                                      name == "category" || name == "occasion");
                if (!is_word) {
                    self(self, inner);
                }
            }
        } else if (value.is_number_float()) {
            value = ++next + 0.5;
        } else if (value.is_string()) {
            value = "text " + std::to_string(++next);
        }
    };
    for (auto& [name, value] : document.items()) {
        if (name != "schema" && name != "schema_version") {
            number(number, value);
        }
    }
    const auto loaded = render::load_report(document.dump());
    ASSERT_TRUE(loaded.ok()) << loaded.error();
    EXPECT_EQ(json::parse(write_json(loaded.value())), document);
}

TEST(LoadReport, AcceptsReferencesWithoutSource) {
    json document = sample();
    EXPECT_EQ(document["findings"][0]["cut"][0].erase("source"), 1U);
    const auto loaded = render::load_report(document.dump());
    ASSERT_TRUE(loaded.ok()) << loaded.error();
    EXPECT_FALSE(loaded.value().findings[0].cut[0].source.has_value());
    EXPECT_EQ(json::parse(write_json(loaded.value())), document);
    document["findings"][0]["cut"][0]["source"] = "text";
    EXPECT_EQ(error_of(document.dump()),
              "findings[0].cut[0].source: expected an object, found a string");
}

TEST(LoadReport, PreservesValidUtf8) {
    for (const std::string& name : testing::hostile_names()) {
        const model::Report report = testing::make_hostile_report(name);
        for (const render::Format format : {render::Format::json, render::Format::html}) {
            const auto loaded = render::load_report(render::render(report, format));
            ASSERT_TRUE(loaded.ok()) << loaded.error();
            if (json(name).dump(-1, ' ', false, json::error_handler_t::ignore) ==
                json(name).dump(-1, ' ', false, json::error_handler_t::replace)) {
                EXPECT_EQ(loaded.value(), report);
            }
        }
    }
}

TEST(LoadReport, PreservesTheLargestNumbers) {
    model::Report report = testing::make_sample_report();
    report.retained_bytes = std::numeric_limits<std::uint64_t>::max();
    report.processes.front().pid = std::numeric_limits<std::int64_t>::min();
    report.stats.elapsed = 1e-6;
    report.stats.seconds = std::numeric_limits<double>::max();
    expect_round_trip(report, render::Format::json);
}

TEST(LoadReport, RoundsTimesToMicrosecondsAndReplacesNonFiniteOnes) {
    model::Report report = testing::make_sample_report();
    report.stats.elapsed = 1.0 / 3;
    report.stats.seconds = std::numeric_limits<double>::infinity();
    report.stats.collection_seconds = std::numeric_limits<double>::quiet_NaN();
    const auto loaded = render::load_report(write_json(report));
    ASSERT_TRUE(loaded.ok()) << loaded.error();
    EXPECT_EQ(loaded.value().stats.elapsed, 0.333333);
    EXPECT_EQ(loaded.value().stats.seconds, 0);
    EXPECT_EQ(loaded.value().stats.collection_seconds, 0);
}

TEST(LoadReport, IgnoresUnknownFieldsAndAByteOrderMark) {
    json document = sample();
    document["from_the_future"] = {1, 2, 3};
    EXPECT_TRUE(render::load_report("\xEF\xBB\xBF \n" + document.dump()).ok());
}

// The result of parsing the whole document: read_directly() does not read a byte order mark.
base::Result<model::Report> read_document(std::string_view text) {
    const std::string marked = "\xEF\xBB\xBF" + std::string(text);
    EXPECT_FALSE(read_directly(marked));
    return read_json_report(marked);
}

TEST(ReadDirectly, ReadsWhatTheWriterWrites) {
    for (const model::Report& report : {testing::make_sample_report(),
                                        testing::make_merged_report(),
                                        testing::make_quiet_report(),
                                        testing::make_hostile_report("\"\\\n\u00e9\U0001F600")}) {
        for (const int indent : {-1, 2}) {
            const std::string text = write_json(report, indent);
            EXPECT_EQ(read_directly(text), report);
            EXPECT_EQ(read_document(text).value(), report);
        }
    }
}

// Replaces and inserts characters at every byte of a report. A change may be harmless, but must
// never be read differently.
TEST(ReadDirectly, AgreesWithTheDocument) {
    model::Report report = testing::make_quiet_report();
    report.notes = {"a", "b\n"};
    const std::string written = write_json(report, -1);
    for (const std::string_view change : {"",
                                          " ",
                                          "0",
                                          "-",
                                          "5",
                                          ".",
                                          "e9",
                                          "\"",
                                          "\\",
                                          ",",
                                          ":",
                                          "{",
                                          "}",
                                          "[",
                                          "]",
                                          "\x80",
                                          "t"}) {
        for (const std::size_t removed : {0U, 1U}) {
            for (std::size_t at = 0; at < written.size(); ++at) {
                std::string text = written;
                text.replace(at, removed, change);
                if (!read_directly(text)) {
                    continue;
                }
                const auto parsed = read_document(text);
                const auto read = read_json_report(text);
                ASSERT_EQ(read.ok(), parsed.ok()) << text;
                if (parsed.ok()) {
                    ASSERT_EQ(read.value(), parsed.value()) << text;
                }
            }
        }
    }
}

TEST(ReadDirectly, LeavesUnusualReportsToTheParser) {
    const std::string text = write_json(testing::make_quiet_report(), -1);
    const std::string start = text.substr(0, text.find(R"("processes")"));
    const std::string rest = text.substr(start.size());
    EXPECT_TRUE(
        read_directly(start + R"("new":[{"a":[null,true,-1.5e3]},"\u00e9",false],)" + rest));
    EXPECT_FALSE(read_directly(start + R"("new":1e999,)" + rest));
    EXPECT_FALSE(read_directly(start + R"("new":01,)" + rest));
    EXPECT_FALSE(read_directly(start + R"("new":"\x",)" + rest));
    EXPECT_FALSE(read_directly(start + R"("notes":[],)" + rest));  // twice
    EXPECT_FALSE(read_directly(start + R"("new":)" + std::string(20, '[') + std::string(20, ']') +
                               "," + rest));
    EXPECT_FALSE(read_directly(text + "x"));
    EXPECT_FALSE(read_directly(text.substr(0, text.rfind('}'))));
}

TEST(LoadReport, ReportsTheByteOfASyntaxError) {
    EXPECT_THAT(error_of("{\"schema\": nonsense}"), HasSubstr("byte 13"));
    const std::string whole = write_json(testing::make_sample_report());
    const std::string half = whole.substr(0, whole.size() / 2);
    EXPECT_THAT(error_of(half),
                AllOf(HasSubstr("truncated"), HasSubstr(std::to_string(half.size()))));
}

TEST(LoadReport, RejectsOtherFiles) {
    struct Case {
        std::string contents;
        std::string error;
    };
    for (const Case& test : {Case{"", "empty"},
                             Case{" \n\t", "empty"},
                             Case{"{}", "not a cyclewatch report"},
                             Case{"[1, 2]", "expected an object, found an array"},
                             Case{"{\"schema\": 7}", "not a cyclewatch report"},
                             Case{"<!doctype html><p>hello", "not a cyclewatch report"},
                             Case{"\x7f"
                                  "ELF\x02",
                                  "not valid JSON at byte 1"},
                             Case{std::string(5'000'000, '['), "32 levels deep"},
                             Case{"{\"schema\": 1e999999}", "out of range"},
                             Case{"{\"schema\": " + std::string(1'000'000, '9') + "}", ""}}) {
        EXPECT_THAT(error_of(test.contents), HasSubstr(test.error));
        EXPECT_NE(error_of(test.contents), "no error");
    }
}

// Each case replaces the value at a JSON pointer.
TEST(LoadReport, ReportsInvalidFields) {
    struct Case {
        std::string pointer;
        json value;
        std::string error;
    };
    const std::string integer = ": expected an integer";
    for (const Case& test : {
             Case{"/schema_version", model::kReportSchemaVersion + 6, "version 8"},
             Case{"/schema_version", 99, "newer version of cyclewatch"},
             Case{"/schema_version", 1, "record the report again"},
             Case{"/schema_version", "1", "schema_version: expected a positive integer"},
             Case{"/schema_version", -1, "schema_version: expected a positive integer"},
             Case{"/findings/2/owners/1",
                  json::object(),
                  "findings[2].owners[1].type: this field is missing"},
             Case{"/findings/0/retained_bytes", -5, "findings[0].retained_bytes" + integer},
             Case{"/findings/0/retained_bytes", 1e30, "findings[0].retained_bytes" + integer},
             Case{"/findings/0/cut",
                  "all of it",
                  "findings[0].cut: expected an array, found a string"},
             Case{"/collections/3", nullptr, "collections[3]: expected an object, found null"},
             Case{"/stats/skipped/a reason", "often", "stats.skipped[\"a reason\"]" + integer},
             Case{
                 "/collections/0/generation", 3'000'000'000, "collections[0].generation" + integer},
             Case{"/findings/1/picture/arrows/4/to",
                  99,
                  "findings[1].picture.arrows[4]: an arrow from"},
             Case{"/findings/1/picture/items",
                  json(41, sample()["findings"][1]["picture"]["items"][0]),
                  "findings[1].picture: more than 40 items or 150 arrows"},
             Case{"/findings/1/picture/arrows",
                  json(151, sample()["findings"][1]["picture"]["arrows"][0]),
                  "findings[1].picture: more than 40 items or 150 arrows"},
             Case{"/collections/2/process",
                  1,
                  "collections[2].process: index 1, but there is only 1 process"},
             Case{"/findings/1/by_process/0/process", 4, "findings[1].by_process[0].process"},
             Case{"/processes", json::array(), "processes: expected at least one"},
             Case{"/findings/0/status",
                  "fresh",
                  "findings[0].status: expected one of \"new\", \"known\", \"library\", "
                  "\"benign\", \"ignored\", found \"fresh\""},
             Case{"/collections/0/device_memory/0/source",
                  3,
                  "collections[0].device_memory[0].source: expected a string, found the number 3"},
         }) {
        json document = sample();
        document[json::json_pointer(test.pointer)] = test.value;
        EXPECT_THAT(error_of(document.dump()), HasSubstr(test.error));
    }
}

}  // namespace
}  // namespace cyclewatch::format
