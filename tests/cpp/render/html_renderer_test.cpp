// SPDX-License-Identifier: Apache-2.0
#include "render/html/html_renderer.h"
#include "render/html/html_data.h"
#include "render/html/html_writer.h"
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

// All tags that a page may contain.
constexpr std::array kPageTags{
    "html",       "head",     "meta", "title",   "style", "body",    "main",    "header",
    "p",          "b",        "span", "h1",      "h2",    "h3",      "nav",     "ol",
    "ul",         "li",       "dl",   "dt",      "dd",    "pre",     "a",       "svg",
    "rect",       "article",  "div",  "section", "code",  "wbr",     "br",      "figure",
    "figcaption", "g",        "path", "polygon", "text",  "desc",    "table",   "caption",
    "thead",      "tbody",    "tr",   "th",      "td",    "details", "summary", "footer",
    "script",     "noscript", "mark", "u"};

// Only the placeholders of the shell.
constexpr std::string_view kAllParts =
    "<!--fill:title--><!--fill:opening--><!--fill:bars--><!--fill:ranks--><!--fill:findings-->"
    "<!--fill:live--><!--fill:closing-->"
    "<!--fill:report-->";

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
    EXPECT_EQ(scripts, 2);  // the JSON and the script of the shell
}

TEST(Html, IsWellFormed) {
    expect_harmless(render_html(testing::make_sample_report()));
    expect_harmless(render_html(testing::make_quiet_report()));
    expect_harmless(render_html(model::Report{}));
}

TEST(Html, LoadsNothing) {
    EXPECT_THAT(std::string(page_shell()), HasSubstr("content=\"default-src 'none'"));
    EXPECT_THAT(std::string(page_shell()), Not(HasSubstr("unsafe-inline")));
    std::string page = fill_shell(kAllParts, page_parts(testing::make_sample_report()));
    // The links to public examples of a pattern are allowed.
    const std::size_t links = page.find("<ul class=\"links\">");
    ASSERT_NE(links, std::string::npos);
    page.erase(links, page.find("</ul>", links) - links);
    for (const char* outside : {"http://", "https://", "url(", "@import", "//cdn"}) {
        EXPECT_THAT(page, Not(HasSubstr(outside)));
    }
}

TEST(Html, ListsAllChanges) {
    model::Report report = testing::make_sample_report();
    std::vector<model::Reference>& cut = report.findings[0].cut;
    cut.assign(30, cut.front());
    for (model::Reference& reference : cut) {
        reference.location = "part.py:" + std::to_string(1000 + (&reference - cut.data()));
    }
    const std::string page = page_parts(report).at("findings");
    for (const model::Reference& reference : cut) {
        const std::string line = reference.location.substr(reference.location.find(':') + 1);
        EXPECT_THAT(page, HasSubstr(line + "</code>"));
    }
}

TEST(Html, ShowsTextBetweenBackticksAsCode) {
    EXPECT_EQ(prose("`<lambda>` captures `self`, a ` b"),
              "<code>&lt;lambda&gt;</code> captures <code>self</code>, a &#96; b");
}

TEST(Html, HasUniqueIds) {
    const std::string page = render_html(testing::make_sample_report());
    std::vector<std::string> ids;
    for (std::size_t at = page.find(" id=\""); at != std::string::npos;
         at = page.find(" id=\"", at + 1)) {
        ids.push_back(page.substr(at + 5, page.find('"', at + 5) - at - 5));
    }
    std::sort(ids.begin(), ids.end());
    EXPECT_EQ(std::adjacent_find(ids.begin(), ids.end()), ids.end());
}

std::size_t times(const std::string& page, std::string_view part) {
    std::size_t found = 0;
    for (std::size_t at = page.find(part); at != std::string::npos; at = page.find(part, at + 1)) {
        ++found;
    }
    return found;
}

// Browsers with scripts parse <noscript> as text, so no name may close it.
TEST(Html, PutsLaterCardsIntoNoscript) {
    for (const std::string& name : testing::hostile_names()) {
        model::Report report = testing::make_hostile_report(name);
        report.findings.resize(20, report.findings.front());
        EXPECT_EQ(times(page_parts(report).at("findings"), "noscript"), 0U);
        report.findings.resize(25, report.findings.front());
        const std::string cards = page_parts(report).at("findings");
        EXPECT_EQ(times(cards, "</header>\n<noscript><div class=\"columns"), 5U);
        EXPECT_EQ(times(cards, "</noscript></article>"), 5U);
        EXPECT_EQ(times(cards, "</noscript"), 5U);
        EXPECT_EQ(times(cards, "class=\"signature\""), 25U);
        expect_harmless(render_html(report));
    }
}

TEST(Html, LimitsItsSizeButEmbedsAllFindings) {
    model::Report report = testing::make_sample_report();
    report.findings.resize(2500, report.findings.front());
    const std::string page = render_html(report);
    EXPECT_LT(page.size(), 5'000'000U);
    EXPECT_THAT(page, HasSubstr("Diagram omitted to keep this file small."));
    EXPECT_THAT(page, HasSubstr("smaller findings not shown here"));
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
                       {"opening", "opening"},
                       {"bars", "bars"},
                       {"ranks", "ranks"},
                       {"findings", "findings"},
                       {"live", "live"},
                       {"closing", "closing"},
                       {"report", "report"}};

TEST(Shell, HasAPlaceholderForEveryPart) {
    const std::string page = fill_shell(page_shell(), kParts);
    EXPECT_EQ(page.find("<!--"), std::string::npos);
    EXPECT_NE(page.find("<title>title</title>"), std::string::npos);
    std::size_t at = 0;
    for (const char* part : {"\nopening\n",
                             "\nbars\n",
                             "\nranks\n",
                             "\nfindings\n",
                             "\nlive\n",
                             "\nclosing\n",
                             "\nreport\n"}) {
        at = page.find(part, at);
        EXPECT_NE(at, std::string::npos) << part;
    }
}

}  // namespace
}  // namespace cyclewatch::render
