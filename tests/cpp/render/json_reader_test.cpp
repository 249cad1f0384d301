// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "render/json_renderer.h"
#include "render/renderer.h"
#include "support/hostile_names.h"
#include "support/sample_report.h"

namespace cyclewatch::render {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

json sample() {
    return json::parse(render_json(testing::make_sample_report()));
}

std::string error_of(std::string_view contents) {
    const auto loaded = load_report(contents);
    return loaded ? "no error" : loaded.error();
}
std::string document_error(const json& document) {
    return error_of(document.dump());
}

TEST(LoadReport, GivesBackWhatWasWritten) {
    const model::Report report = testing::make_sample_report();
    const auto loaded = load_report(render_json(report));
    ASSERT_TRUE(loaded.ok()) << loaded.error();
    EXPECT_EQ(loaded.value(), report);
}

TEST(LoadReport, GivesBackEveryFieldOnItsOwn) {
    // Every number of the file changed to one of its own: a field that the reader mixes up with
    // another, or drops, comes back different.
    json document = sample();
    int next = 1;
    const auto number = [&next](auto& self, json& value) -> void {
        if (value.is_structured()) {
            for (auto& [name, inner] : value.items()) {
                // Only their own words will do for these.
                if (name != "status" && name != "verdict" && name != "source") {
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
    const auto loaded = load_report(document.dump());
    ASSERT_TRUE(loaded.ok()) << loaded.error();
    EXPECT_EQ(json::parse(render_json(loaded.value())), document);
}

TEST(LoadReport, ReadsTheReportInsideAPage) {
    const model::Report report = testing::make_sample_report();
    const auto loaded = load_report(render(report, Format::html));
    ASSERT_TRUE(loaded.ok()) << loaded.error();
    EXPECT_EQ(loaded.value(), report);
}

TEST(LoadReport, KeepsHostileNamesExactlyUnlessTheyAreNotUtf8) {
    for (const std::string& name : testing::hostile_names()) {
        const model::Report report = testing::make_hostile_report(name);
        for (const Format format : {Format::json, Format::html}) {
            const auto loaded = load_report(render(report, format));
            ASSERT_TRUE(loaded.ok()) << loaded.error();
            if (json(name).dump(-1, ' ', false, json::error_handler_t::ignore) ==
                json(name).dump(-1, ' ', false, json::error_handler_t::replace)) {
                EXPECT_EQ(loaded.value(), report);
            }
        }
    }
}

TEST(LoadReport, KeepsTheLargestNumbers) {
    model::Report report = testing::make_sample_report();
    report.retained_bytes = std::numeric_limits<std::uint64_t>::max();
    report.processes.front().pid = std::numeric_limits<std::int64_t>::min();
    report.stats.elapsed = 1e-6;
    report.stats.seconds = std::numeric_limits<double>::max();
    const auto loaded = load_report(render_json(report));
    ASSERT_TRUE(loaded.ok()) << loaded.error();
    EXPECT_EQ(loaded.value(), report);
}

TEST(LoadReport, GivesBackTimesToTheMicrosecond) {
    model::Report report = testing::make_sample_report();
    report.stats.elapsed = 1.0 / 3;
    const auto loaded = load_report(render_json(report));
    ASSERT_TRUE(loaded.ok()) << loaded.error();
    EXPECT_EQ(loaded.value().stats.elapsed, 0.333333);
}

TEST(LoadReport, TurnsTimesThatAreNoNumbersIntoZero) {
    model::Report report = testing::make_sample_report();
    report.stats.elapsed = std::numeric_limits<double>::infinity();
    report.stats.seconds = std::numeric_limits<double>::quiet_NaN();
    const auto loaded = load_report(render_json(report));
    ASSERT_TRUE(loaded.ok()) << loaded.error();
    EXPECT_EQ(loaded.value().stats.elapsed, 0);
    EXPECT_EQ(loaded.value().stats.seconds, 0);
}

TEST(LoadReport, IgnoresFieldsItDoesNotKnowAndAByteOrderMark) {
    json document = sample();
    document["from_the_future"] = {1, 2, 3};
    EXPECT_TRUE(load_report("\xEF\xBB\xBF \n" + document.dump()).ok());
}

TEST(LoadReport, NamesTheByteWhereJsonEnds) {
    EXPECT_THAT(error_of("{\"schema\": nonsense}"), HasSubstr("byte 13"));
    const std::string whole = render_json(testing::make_sample_report());
    const std::string half = whole.substr(0, whole.size() / 2);
    EXPECT_THAT(error_of(half),
                AllOf(HasSubstr("cut short"), HasSubstr(std::to_string(half.size()))));
}

TEST(LoadReport, CountsBytesFromTheStartOfThePage) {
    std::string page = render(testing::make_quiet_report(), Format::html);
    const std::size_t at = page.find("{\"schema\"");
    ASSERT_NE(at, std::string::npos);
    page[at] = '!';
    EXPECT_THAT(error_of(page), HasSubstr("byte " + std::to_string(at + 1)));
}

TEST(LoadReport, TellsForeignFilesFromDamagedOnes) {
    EXPECT_THAT(error_of(""), HasSubstr("empty"));
    EXPECT_THAT(error_of(" \n\t"), HasSubstr("empty"));
    EXPECT_THAT(error_of("{}"), HasSubstr("not a cyclewatch report"));
    EXPECT_THAT(error_of("[1, 2]"), HasSubstr("holds a list"));
    EXPECT_THAT(error_of("{\"schema\": 7}"), HasSubstr("not a cyclewatch report"));
    EXPECT_THAT(error_of("<!doctype html><p>hello"), HasSubstr("not a cyclewatch report"));
    EXPECT_THAT(error_of("\x7f"
                         "ELF\x02"),
                HasSubstr("not valid JSON at byte 1"));
}

TEST(LoadReport, RefusesAnotherSchemaByNumber) {
    json document = sample();
    document["schema_version"] = model::kReportSchemaVersion + 6;
    EXPECT_THAT(document_error(document),
                AllOf(HasSubstr("version 8"), HasSubstr("newer cyclewatch")));
    document["schema_version"] = 1;
    EXPECT_THAT(document_error(document),
                AllOf(HasSubstr("version 1,"), HasSubstr("record it again")));
    document["schema_version"] = "1";
    EXPECT_THAT(document_error(document), HasSubstr("schema_version: expected a whole number"));
    document["schema_version"] = -1;
    EXPECT_THAT(document_error(document), HasSubstr("schema_version"));
}

TEST(LoadReport, NamesTheFieldThatIsWrong) {
    json document = sample();
    document["findings"][2]["owners"][1].erase("bytes");
    EXPECT_EQ(document_error(document), "findings[2].owners[1].bytes: this field is missing");

    document = sample();
    document["findings"][0]["retained_bytes"] = -5;
    EXPECT_THAT(document_error(document),
                HasSubstr("findings[0].retained_bytes: expected a whole number"));

    document = sample();
    document["findings"][0]["retained_bytes"] = 1e30;
    EXPECT_THAT(document_error(document),
                HasSubstr("findings[0].retained_bytes: expected a whole number"));

    document = sample();
    document["findings"][0]["cut"] = "all of it";
    EXPECT_EQ(document_error(document), "findings[0].cut: expected a list, found text");

    document = sample();
    document["collections"][3] = nullptr;
    EXPECT_EQ(document_error(document), "collections[3]: expected an object, found null");

    document = sample();
    document["stats"]["skipped"]["a reason"] = "often";
    EXPECT_THAT(document_error(document),
                HasSubstr("stats.skipped[\"a reason\"]: expected a whole"));

    document = sample();
    document["collections"][0]["generation"] = 3'000'000'000;
    EXPECT_THAT(document_error(document), HasSubstr("collections[0].generation"));
}

TEST(LoadReport, RefusesArrowsThatLeadNowhere) {
    json document = sample();
    document["findings"][1]["picture"]["arrows"][4]["to"] = 99;
    EXPECT_THAT(document_error(document),
                AllOf(HasSubstr("findings[1].picture.arrows[4]"), HasSubstr("item 99")));
}

TEST(LoadReport, RefusesProcessesThatAreNotThere) {
    json document = sample();
    document["collections"][2]["process"] = 1;
    EXPECT_EQ(document_error(document),
              "collections[2].process: it is of process 1, but there are only 1 processes");
    document = sample();
    document["findings"][1]["by_process"][0]["process"] = 4;
    EXPECT_THAT(document_error(document), HasSubstr("findings[1].by_process[0].process"));
    document = sample();
    document["processes"] = json::array();
    document["collections"] = json::array();
    EXPECT_THAT(document_error(document), HasSubstr("processes: "));
}

TEST(LoadReport, RefusesWordsItDoesNotKnow) {
    json document = sample();
    document["findings"][0]["status"] = "fresh";
    EXPECT_EQ(document_error(document),
              "findings[0].status: expected one of \"new\", \"known\", \"library\", "
              "\"benign\", \"ignored\", found \"fresh\"");
    document = sample();
    document["collections"][0]["device_memory"][0]["source"] = 3;
    EXPECT_EQ(document_error(document),
              "collections[0].device_memory[0].source: expected text, found the number 3");
}

TEST(LoadReport, GivesBackAMergedReport) {
    const model::Report report = testing::make_merged_report();
    const auto loaded = load_report(render_json(report));
    ASSERT_TRUE(loaded.ok()) << loaded.error();
    EXPECT_EQ(loaded.value(), report);
}

TEST(LoadReport, SurvivesDepthAndSize) {
    EXPECT_THAT(error_of(std::string(5'000'000, '[')), HasSubstr("levels deep at byte 32"));
    EXPECT_THAT(error_of("{\"schema\": 1e999999}"), HasSubstr("too large"));
    const std::string digits(1'000'000, '9');
    EXPECT_NE(error_of("{\"schema\": " + digits + "}"), "no error");
    // Brackets inside text are no depth.
    json document = sample();
    document["notes"] = {std::string(1000, '['), "\\\"" + std::string(1000, '{')};
    EXPECT_TRUE(load_report(document.dump()).ok());
}

// Damages a good file in many ways; whatever comes of it must be an error or a report that
// every renderer can draw.
TEST(LoadReport, AnswersEveryDamagedFile) {
    const std::string whole = render_json(testing::make_sample_report(), -1);
    for (std::size_t length = 0; length + 1 < whole.size(); length += 97) {
        EXPECT_FALSE(load_report(std::string_view(whole).substr(0, length)).ok());
    }
    std::mt19937 random(20260131);
    const std::string_view spice = "{}[]\",:0-.e\\u<\xFF tfn";
    int read = 0;
    for (int round = 0; round < 1500; ++round) {
        std::string damaged = whole;
        for (unsigned i = 0; i <= random() % 3; ++i) {
            const std::size_t at = random() % damaged.size();
            switch (random() % 3) {
                case 0:
                    damaged[at] = spice[random() % spice.size()];
                    break;
                case 1:
                    damaged.erase(at, 1 + random() % 40);
                    break;
                default:
                    damaged.insert(at, damaged.substr(random() % damaged.size(), random() % 60));
            }
        }
        const auto loaded = load_report(damaged);
        if (!loaded) {
            EXPECT_FALSE(loaded.error().empty());
        } else if (++read % 16 == 0) {
            for (const std::string& name : format_names()) {
                EXPECT_FALSE(render(loaded.value(), *format_from_name(name)).empty());
            }
        }
    }
    EXPECT_GT(read, 0);  // else the damage is so great that nothing was tried
}

}  // namespace
}  // namespace cyclewatch::render
