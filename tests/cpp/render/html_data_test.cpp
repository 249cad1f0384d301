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

constexpr std::size_t kPlenty = 100'000'000;

TEST(Packing, GivesBackWhatItWasGiven) {
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
        const auto unpacked = unpack(pack(text), kPlenty);
        ASSERT_TRUE(unpacked.ok()) << unpacked.error();
        EXPECT_TRUE(unpacked.value() == text);
    }
}

// `printf abc | gzip -n | base64`: what a browser's own decoder reads too.
TEST(Packing, ReadsWhatGzipAndBase64Write) {
    const auto text = unpack("H4sIAAAAAAAAA0tMSgYAwkEkNQMAAAA=", kPlenty);
    ASSERT_TRUE(text.ok()) << text.error();
    EXPECT_EQ(text.value(), "abc");
}

TEST(Packing, RefusesWhatItNeverWrote) {
    const std::string good = pack(std::string(1000, 'x') + "end");
    EXPECT_THAT(unpack("no base64!", kPlenty).error(), HasSubstr("not base64"));
    EXPECT_THAT(unpack("AAAA", kPlenty).error(), HasSubstr("damaged"));
    EXPECT_THAT(unpack("", kPlenty).error(), HasSubstr("damaged"));
    EXPECT_THAT(unpack(good.substr(0, good.size() / 2), kPlenty).error(), HasSubstr("cut short"));
    EXPECT_THAT(unpack(good, 500).error(), HasSubstr("more than 500 bytes"));
}

TEST(Packing, IsForReportsThatWouldMakeAPageHeavy) {
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

// A report that is packed, of which two processes saw each finding.
model::Report make_heavy_report() {
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

TEST(Packing, OccurrencesByProcessAreColumnsAndLoseNothing) {
    const model::Report report = make_heavy_report();
    EXPECT_THAT(packed_json(report),
                HasSubstr("\"by_process\":{\"process\":[0,1],\"occurrences\":[3,5],"
                          "\"retained_bytes\":[18446744073709551615,7],"
                          "\"first_seen\":[0.25,1e-06],\"first_step\":[-1,12]}"));
    const auto loaded = load_report("<!doctype html>\n" + report_element(report));
    ASSERT_TRUE(loaded.ok()) << loaded.error();
    EXPECT_EQ(loaded.value(), report);
}

TEST(Packing, SaysWhatIsWrongWithAColumn) {
    const std::string good = packed_json(make_heavy_report());
    const auto error_with = [&](const std::string& part, const std::string& instead) {
        std::string json = good;
        json.replace(json.find(part), part.size(), instead);
        return load_report(json).error();
    };
    const std::string where = "findings[0].by_process.";
    EXPECT_THAT(error_with("\"process\":[0,1]", "\"process\":[0,\"1\"]"),
                HasSubstr(where + "process[1]: expected a whole number"));
    EXPECT_THAT(error_with("\"process\":[0,1]", "\"process\":[0,9]"),
                HasSubstr("findings[0].by_process[1].process: it is of process 9"));
    EXPECT_THAT(
        error_with("\"occurrences\":[3,5]", "\"occurrences\":[3,5,6]"),
        HasSubstr(where + "occurrences: expected 2 values, as the first field has, found 3"));
    EXPECT_THAT(error_with("\"occurrences\":[3,5]", "\"occurrences\":3"),
                HasSubstr(where + "occurrences: expected a list"));
    EXPECT_THAT(error_with("\"first_step\"", "\"other\""),
                HasSubstr(where + "first_step: this field is missing"));
}

TEST(Packing, DamageIsSaidToBeInThePackedReport) {
    const std::string page =
        "<html><script type=\"application/json\" id=\"cyclewatch-report\" "
        "data-packed=\"gzip-base64\">AAAA</script>";
    EXPECT_THAT(load_report(page).error(), HasSubstr("packed report"));
}

}  // namespace
}  // namespace cyclewatch::render
