// SPDX-License-Identifier: Apache-2.0
#include "render/html/html_renderer.h"
#include "render/html/html_data.h"
#include "render/renderer.h"
#include "support/hostile_names.h"
#include "support/markup_check.h"
#include "support/sample_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <algorithm>
#include <array>
#include <cstdint>

namespace cyclewatch::render {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// All tags that a page contains before its script draws it.
constexpr std::array kPageTags{"html",
                               "head",
                               "meta",
                               "title",
                               "style",
                               "body",
                               "main",
                               "header",
                               "p",
                               "h1",
                               "noscript",
                               "pre",
                               "div",
                               "section",
                               "script"};

void expect_harmless(const std::string& page) {
    const testing::Markup markup = testing::parse_markup(page);
    EXPECT_EQ(markup.problem, "");
    int scripts = 0;
    for (const testing::MarkupTag& tag : markup.tags) {
        EXPECT_NE(std::find(kPageTags.begin(), kPageTags.end(), tag.name), kPageTags.end())
            << tag.name;
        scripts += tag.name == "script" ? 1 : 0;
        for (const std::string& attribute : tag.attributes) {
            EXPECT_FALSE(attribute.starts_with("on") || attribute == "src" || attribute == "style")
                << tag.name << " " << attribute;
        }
    }
    EXPECT_EQ(scripts, 3);  // the report, the texts and the script of the shell
}

TEST(Html, IsWellFormed) {
    expect_harmless(render_html(testing::make_sample_report()));
    expect_harmless(render_html(testing::make_quiet_report()));
    expect_harmless(render_html(model::Report{}));
}

TEST(Html, LoadsNothing) {
    EXPECT_THAT(std::string(page_shell()), HasSubstr("content=\"default-src 'none'"));
    EXPECT_THAT(std::string(page_shell()), Not(HasSubstr("unsafe-inline")));
    for (const auto& [name, part] : page_parts(testing::make_sample_report())) {
        std::string page = part;
        // The links to public examples of a pattern are allowed.
        const std::size_t links = page.find("\"links\":[");
        EXPECT_EQ(links == std::string::npos, name != "texts");
        if (links != std::string::npos) {
            page.erase(links, page.find(']', links) - links);
        }
        for (const char* outside : {"http://", "https://", "url(", "@import", "//cdn"}) {
            EXPECT_THAT(page, Not(HasSubstr(outside))) << name;
        }
    }
}

std::size_t times(const std::string& page, std::string_view part) {
    std::size_t found = 0;
    for (std::size_t at = page.find(part); at != std::string::npos; at = page.find(part, at + 1)) {
        ++found;
    }
    return found;
}

// Browsers with scripts parse <noscript> as text, so no name may close it.
TEST(Html, HasTheTextReportInNoscript) {
    for (const std::string& name : testing::hostile_names()) {
        const std::string page = render_html(testing::make_hostile_report(name));
        expect_harmless(page);
        EXPECT_EQ(times(page.substr(page.find("<body>")), "</noscript"), 1U);
    }
    const model::Report report = testing::make_sample_report();
    const std::string text = page_parts(report).at("text");
    EXPECT_EQ(times(text, "\n"), times(render_text(report), "\n"));
    EXPECT_THAT(text, HasSubstr("callback -&gt; &lt;lambda&gt;.closure:self -&gt;\n"));
}

TEST(Html, LimitsItsSizeButEmbedsAllFindings) {
    model::Report report = testing::make_sample_report();
    report.findings.resize(2500, report.findings.front());
    const std::string page = render_html(report);
    EXPECT_LT(page.size(), 2'000'000U);
    EXPECT_THAT(page, HasSubstr("and 2,400 smaller findings"));
    const auto loaded = load_report(page);
    ASSERT_TRUE(loaded.ok()) << loaded.error();
    EXPECT_EQ(loaded.value(), report);
}

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
    return find_embedded_report(report_element(report)).value();
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

const PageParts kParts{{"title", "title"},
                       {"summary", "summary"},
                       {"remedy", "remedy"},
                       {"text", "text"},
                       {"report", "report"},
                       {"texts", "texts"}};

TEST(Shell, HasAPlaceholderForEveryPart) {
    const std::string page = fill_shell(page_shell(), kParts);
    EXPECT_EQ(page.find("<!--"), std::string::npos);
    EXPECT_NE(page.find("<title>title</title>"), std::string::npos);
    std::size_t at = 0;
    for (const char* part : {">summary</h1>",
                             ">remedy</p>",
                             "<noscript><pre class=\"text\">text</pre></noscript>",
                             "\nreport\n",
                             "\ntexts\n"}) {
        at = page.find(part, at);
        EXPECT_NE(at, std::string::npos) << part;
    }
}

}  // namespace
}  // namespace cyclewatch::render
