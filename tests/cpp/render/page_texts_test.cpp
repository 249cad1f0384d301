// SPDX-License-Identifier: Apache-2.0
#include "render/html/page_texts.h"
#include "render/device_text.h"
#include "support/sample_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <string>

namespace cyclewatch::render {
namespace {

using Json = nlohmann::json;

Json texts_of(const model::Report& report) {
    return Json::parse(page_texts(report));
}

Json picture_of(const model::Report& report, std::size_t finding) {
    return texts_of(report)["findings"][finding]["picture"];
}

TEST(PageTexts, ListsAllChanges) {
    model::Report report = testing::make_sample_report();
    std::vector<model::Reference>& cut = report.findings[0].cut;
    cut.assign(30, cut.front());
    for (model::Reference& reference : cut) {
        reference.location = "part.py:" + std::to_string(1000 + (&reference - cut.data()));
    }
    const Json changes = texts_of(report)["findings"][0]["changes"];
    ASSERT_EQ(changes.size(), 30U);
    EXPECT_EQ(changes[29]["first"], 29);
    EXPECT_EQ(changes[29]["references"], 1);
}

TEST(PageTexts, HasOneEntryForEachFinding) {
    const model::Report report = testing::make_sample_report();
    const Json findings = texts_of(report)["findings"];
    ASSERT_EQ(findings.size(), report.findings.size());
    for (std::size_t i = 0; i < findings.size(); ++i) {
        EXPECT_EQ(findings[i]["alternative_code"].size(), report.findings[i].alternatives.size());
        EXPECT_EQ(findings[i]["shown_steps"], report.findings[i].cycle.size());
        EXPECT_EQ(findings[i]["more_steps"], 0);
    }
}

TEST(PageTexts, ExplainsOnlyBuiltInPatterns) {
    model::Report report = testing::make_sample_report();
    report.findings.resize(1);
    report.findings[0].pattern = "frame-in-own-local";
    EXPECT_EQ(texts_of(report)["patterns"]["frame-in-own-local"].size(), 5U);
    report.findings[0].pattern = "of-a-configuration";
    EXPECT_TRUE(texts_of(report)["patterns"].empty());
}

TEST(PageTexts, StopsDrawingWhenThePicturesAreLarge) {
    model::Report report = testing::make_sample_report();
    const model::Finding finding = report.findings.front();
    report.findings.assign(3, finding);
    const std::size_t size = std::string(picture_of(report, 0)["svg"]).size();
    const Json findings = Json::parse(page_texts(report, size + 1))["findings"];
    EXPECT_EQ(std::string(findings[1]["picture"]["svg"]).size(), size);
    EXPECT_EQ(findings[2]["picture"]["svg"], "");
    EXPECT_EQ(findings[2]["picture"]["note"], "Diagram omitted to keep this file small.");
    report.findings.resize(1);
    report.findings[0].picture = {};
    EXPECT_EQ(picture_of(report, 0)["note"], "No diagram was recorded for this cycle.");
}

TEST(PageTexts, DividesTheMemoryOfDevices) {
    model::Report report;
    report.processes.emplace_back();
    model::DeviceRecord record;
    record.total = 100;
    record.memory_now = model::MemoryBreakdown{.live = 30, .free = 70};
    report.device_records.emplace(kMostDevices + 2, record);
    const Json texts = texts_of(report);
    ASSERT_EQ(texts["devices"].size(), kMostDevices);
    EXPECT_EQ(texts["more_devices"], "and 2 more devices");
    const Json device = texts["devices"][0];
    EXPECT_TRUE(device["memory"].is_null());
    EXPECT_EQ(device["memory_now"]["parts"][0],
              (Json{{"key", "live"}, {"label", "live tensors"}, {"bytes", 30}}));
    EXPECT_EQ(texts_of({})["devices"], Json::array());
}

TEST(PageTexts, AreAsciiEvenIfNamesAreInvalid) {
    model::Report report = testing::make_sample_report();
    report.notes = {"\xff \xc3\xa9"};
    const std::string texts = page_texts(report);
    EXPECT_TRUE(std::all_of(texts.begin(), texts.end(), [](char c) { return c >= 0; }));
    EXPECT_THAT(texts, ::testing::HasSubstr(R"(\ufffd \u00e9)"));
}

}  // namespace
}  // namespace cyclewatch::render
