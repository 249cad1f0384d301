// SPDX-License-Identifier: Apache-2.0
#include "render/packing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "render/html_data.h"
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

TEST(Packing, DamageIsSaidToBeInThePackedReport) {
    const std::string page =
        "<html><script type=\"application/json\" id=\"cyclewatch-report\" "
        "data-packed=\"gzip-base64\">AAAA</script>";
    EXPECT_THAT(load_report(page).error(), HasSubstr("packed report"));
}

}  // namespace
}  // namespace cyclewatch::render
