// SPDX-License-Identifier: Apache-2.0
#include "render/html/html_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>

#include "render/renderer.h"
#include "support/sample_report.h"

namespace cyclewatch::render {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t kNoLimit = 100'000'000;

TEST(Packing, RoundTrips) {
    std::string long_text;
    for (std::size_t i = 0; i < 300'000; ++i) {
        long_text += std::to_string(i * 7919) + ",";
    }
    for (const std::string& text : {std::string(),
                                    std::string("a"),
                                    std::string("ab"),
                                    std::string("abc"),
                                    std::string("a\0b", 3),
                                    long_text}) {
        const auto unpacked = unpack(pack(text), kNoLimit);
        ASSERT_TRUE(unpacked.ok()) << unpacked.error();
        EXPECT_TRUE(unpacked.value() == text);
    }
}

// `printf abc | gzip -n | base64`: the format that browsers decode.
TEST(Packing, IsGzipAndBase64) {
    const auto text = unpack("H4sIAAAAAAAAA0tMSgYAwkEkNQMAAAA=", kNoLimit);
    ASSERT_TRUE(text.ok()) << text.error();
    EXPECT_EQ(text.value(), "abc");
}

TEST(Packing, RejectsInvalidInput) {
    const std::string good = pack(std::string(1000, 'x') + "end");
    EXPECT_THAT(unpack("no base64!", kNoLimit).error(), HasSubstr("not valid base64"));
    EXPECT_THAT(unpack("AAAA", kNoLimit).error(), HasSubstr("damaged"));
    EXPECT_THAT(unpack("", kNoLimit).error(), HasSubstr("damaged"));
    EXPECT_THAT(unpack(good.substr(0, good.size() / 2), kNoLimit).error(), HasSubstr("truncated"));
    EXPECT_THAT(unpack(good, 500).error(), HasSubstr("more than 500 bytes"));
    const std::string page =
        "<html><script type=\"application/json\" id=\"cyclewatch-report\" "
        "data-packed=\"gzip-base64\">AAAA</script>";
    EXPECT_THAT(load_report(page).error(), HasSubstr("packed report"));
}

TEST(Packing, IsUsedForLargeReports) {
    model::Report report = testing::make_sample_report();
    EXPECT_EQ(report_element(report).find("data-packed"), std::string::npos);
    const model::Finding one = report.findings.front();
    report.findings.resize(200, one);
    const std::string element = report_element(report);
    EXPECT_THAT(element, HasSubstr("data-packed=\"gzip-base64\""));
    EXPECT_LT(element.size(), kLongestPlainJson);
    const auto loaded = load_report("<!doctype html>\n" + element);
    ASSERT_TRUE(loaded.ok()) << loaded.error();
    EXPECT_EQ(loaded.value(), report);
}

// A report large enough to be packed, with two processes for each finding.
model::Report make_large_report() {
    model::Report report = testing::make_merged_report();
    model::Finding finding = report.findings.front();
    finding.by_process = {{0, 3, ~std::uint64_t{0}, 0.25, -1}, {1, 5, 7, 1e-6, 12}};
    report.findings.assign(300, finding);
    report.findings.back().by_process.clear();
    return report;
}

std::string packed_json(const model::Report& report) {
    return find_embedded_report(report_element(report)).value().json;
}

TEST(Packing, StoresOccurrencesByColumns) {
    const model::Report report = make_large_report();
    EXPECT_THAT(packed_json(report),
                HasSubstr("\"by_process\":{\"process\":[0,1],\"occurrences\":[3,5],"
                          "\"retained_bytes\":[18446744073709551615,7],"
                          "\"first_seen\":[0.25,1e-06],\"first_step\":[-1,12]}"));
    const auto loaded = load_report("<!doctype html>\n" + report_element(report));
    ASSERT_TRUE(loaded.ok()) << loaded.error();
    EXPECT_EQ(loaded.value(), report);
}

TEST(Packing, ReportsInvalidColumns) {
    const std::string good = packed_json(make_large_report());
    struct Case {
        std::string part;
        std::string replacement;
        std::string error;
    };
    for (const Case& test :
         {Case{"\"process\":[0,1]", "\"process\":[0,\"1\"]", "[1].process: expected an integer"},
          Case{"\"process\":[0,1]", "\"process\":[0,9]", "[1].process: index 9"},
          Case{"\"occurrences\":[3,5]",
               "\"occurrences\":[3,5,6]",
               "[2].process: this field is missing"},
          Case{"\"occurrences\":[3,5]", "\"occurrences\":3", ".occurrences: expected an array"},
          Case{"\"first_step\"", "\"other\"", "[0].first_step: this field is missing"}}) {
        std::string json = good;
        json.replace(json.find(test.part), test.part.size(), test.replacement);
        EXPECT_THAT(load_report(json).error(), HasSubstr("findings[0].by_process" + test.error));
    }
}

}  // namespace
}  // namespace cyclewatch::render
