// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "model/enum_words.h"
#include "model/report.h"
#include "model/retention.h"
#include "render/html/html_parts.h"
#include "render/html/html_writer.h"
#include "render/summary.h"
#include "render/svg/svg_renderer.h"

namespace cyclewatch::render {
namespace {

using base::format_bytes;

constexpr std::size_t kMostGroups = 500;
constexpr std::size_t kLongestPath = 200;

struct Column {
    const char* title;
    bool is_number = false;
};

std::string head_of(std::initializer_list<Column> columns) {
    std::string head;
    for (const Column& column : columns) {
        head.append("<th scope=\"col\"").append(column.is_number ? " class=\"number\">" : ">");
        head.append(column.title).append("</th>");
    }
    return head;
}

std::string number(std::string_view text) {
    return element("td", "number", text);
}

// A table cell that contains `text` and a bar. The bar shows `value` relative to `largest`.
std::string number_with_bar(std::string_view text, double value, double largest) {
    const double width = largest > 0 ? 1000 * std::max(value, 0.0) / largest : 0;
    return "<td class=\"number\">" + element("span", "", text) +
           "<svg class=\"bar\" viewBox=\"0 0 1000 10\" preserveAspectRatio=\"none\" "
           "aria-hidden=\"true\">" +
           svg_rectangle("room", 0, 0, 1000, 10) + svg_rectangle("own", 0, 0, width, 10) +
           "</svg></td>";
}

// A bar chart that shows the total size of a group of tensors in each of the latest censuses.
std::string history_chart(const std::vector<std::uint64_t>& census_bytes) {
    if (census_bytes.empty()) {
        return {};
    }
    const auto largest = static_cast<double>(std::ranges::max(census_bytes));
    std::string bars;
    std::string label = "in the last censuses:";
    for (std::size_t i = 0; i < census_bytes.size(); ++i) {
        const auto bytes = static_cast<double>(census_bytes[i]);
        const double height = largest > 0 ? 20 * bytes / largest : 0;
        bars += svg_rectangle("own", 10 * static_cast<double>(i), 20 - height, 8, height);
        label += (i == 0 ? " " : ", ") + format_bytes(census_bytes[i]);
    }
    return "<svg class=\"history\" viewBox=\"0 0 58 20\" role=\"img\" aria-label=\"" + label +
           "\">" + bars + "</svg>";
}

// "cuda:0", or "cuda:0, rank 3" if there are several processes.
template <typename Owner>
std::string device_cell(const model::Report& report, const Owner& owner) {
    const bool several = report.processes.size() > 1 && owner.process < report.processes.size();
    const std::string text =
        owner.owner.device + (several ? ", " + process_name(report.processes[owner.process]) : "");
    return element("td", "", base::truncate_end(base::clean_text(text), 100));
}

// "torch.Tensor [1024] float32"
std::string tensor_cell(const model::OwnerSummary& owner) {
    std::string details = owner.shape + (owner.shape.empty() ? "" : " ") + owner.dtype;
    details = base::truncate_end(base::clean_text(details), 100);
    std::string cell = "<td>" + code(owner.type);
    if (!details.empty()) {
        cell += " " + element("span", "details", details);
    }
    if (!owner.allocated_at.empty()) {
        cell += " <span class=\"where\">" + code(owner.allocated_at) + "</span>";
    }
    return cell + "</td>";
}

// Allows line breaks before and after each arrow, but not inside an arrow.
std::string path_text(std::string_view path) {
    if (path.empty()) {
        return element("span", "quiet", "not known");
    }
    constexpr std::string_view kArrow = " -> ";
    const std::string shown = base::truncate_middle(base::shown_name(path), kLongestPath);
    std::string_view rest = shown;
    std::string out;
    for (std::size_t at = rest.find(kArrow); at != std::string_view::npos; at = rest.find(kArrow)) {
        out += code(rest.substr(0, at)) + " " + code("->", "arrow") + " ";
        rest.remove_prefix(at + kArrow.size());
    }
    return out + code(rest);
}

std::string live_row(const model::Report& report, std::size_t index, double largest) {
    const model::LiveOwner& live = (*report.live_owners)[index];
    std::string paths;
    for (const model::RetentionPath& path : live.held_by) {
        paths += "<p>" + path_text(path.text);
        if (!path.root.location.empty()) {
            paths += " <span class=\"where\">" + code(path.root.location) + "</span>";
        }
        paths += "</p>";
        if (path.remedy && path.cut_frees) {
            paths += element("p", "quiet", base::clean_text("To free it, " + *path.remedy));
        }
    }
    std::string out = "<tr id=\"live-" + std::to_string(index + 1) + "\" data-live=\"";
    out.append(std::to_string(index)).append("\" tabindex=\"-1\">");
    out += number_with_bar(format_bytes(live.bytes), static_cast<double>(live.bytes), largest);
    out += "<th scope=\"row\">" + (paths.empty() ? path_text("") : paths) + "</th>";
    return out + element("td", "", model::word_of(live.category)) +
           number(base::format_count(live.owner.count)) + tensor_cell(live.owner) +
           device_cell(report, live) + "</tr>\n";
}

std::string growing_row(const model::Report& report,
                        const model::GrowingOwner& growing,
                        double largest) {
    return "<tr>" + number_with_bar(growth_rate(growing), growing.rate, largest) +
           "<th scope=\"row\"><p>" + path_text(growing.held_by) + "</p>" +
           (growing.remedy
                ? element("p", "quiet", base::clean_text("To stop the growth, " + *growing.remedy))
                : "") +
           "</th>" + "<td class=\"number\">" + element("span", "", format_bytes(growing.bytes)) +
           history_chart(growing.census_bytes) + "</td>" + number(time_until_full(growing)) +
           number(base::format_count(growing.owner.count)) + tensor_cell(growing.owner) +
           device_cell(report, growing) + "</tr>\n";
}

// States when the tensors were listed.
std::string census_line(const model::Report& report) {
    const std::string when = census_words(report);
    return when.empty() ? when : element("p", "quiet", "Census at " + when + ".") + "\n";
}

std::string panel(std::string_view id, std::string_view title, const std::string& contents) {
    std::string out = "<section id=\"";
    out.append(id).append("\" class=\"panel\" aria-labelledby=\"").append(id).append("-title\">");
    out.append("<header><h2 id=\"").append(id).append("-title\">").append(title);
    return out.append("</h2></header>\n").append(contents).append("</section>\n");
}

// `rows`: markup of the first kMostGroups rows. `total`: the number of all rows.
std::string table(std::string_view caption,
                  std::initializer_list<Column> columns,
                  const std::string& rows,
                  std::size_t total) {
    std::string out = scrolling_table(caption, head_of(columns), rows);
    if (total > kMostGroups) {
        out += element("p", "more", "and " + base::counted(total - kMostGroups, "smaller group"));
    }
    return out;
}

double largest_rate(const std::vector<model::GrowingOwner>& owners, model::GrowthUnit unit) {
    double largest = 0;
    for (const model::GrowingOwner& owner : owners) {
        largest = owner.unit == unit ? std::max(largest, owner.rate) : largest;
    }
    return largest;
}

std::string growing_section(const model::Report& report) {
    if (!report.growing || report.growing->empty()) {
        return {};
    }
    std::string rows;
    const std::size_t shown = std::min(report.growing->size(), kMostGroups);
    for (std::size_t i = 0; i < shown; ++i) {
        const model::GrowingOwner& growing = (*report.growing)[i];
        rows += growing_row(report, growing, largest_rate(*report.growing, growing.unit));
    }
    return panel("growing",
                 "What grows?",
                 census_line(report) + table("Tensors whose memory grew from census to census",
                                             {{"Growth", true},
                                              {"Held by"},
                                              {"Size", true},
                                              {"Memory full in", true},
                                              {"Number", true},
                                              {"Tensor"},
                                              {"Device"}},
                                             rows,
                                             report.growing->size()));
}

std::string live_section(const model::Report& report) {
    if (!report.live_owners || report.live_owners->empty()) {
        return {};
    }
    std::uint64_t largest = 0;
    for (const model::LiveOwner& live : *report.live_owners) {
        largest = std::max(largest, live.bytes);
    }
    std::string rows;
    const std::size_t shown = std::min(report.live_owners->size(), kMostGroups);
    for (std::size_t i = 0; i < shown; ++i) {
        rows += live_row(report, i, static_cast<double>(largest));
    }
    return panel("live-owners",
                 "What is alive?",
                 census_line(report) + table("The largest reachable tensors",
                                             {{"Size", true},
                                              {"Held by"},
                                              {"Category"},
                                              {"Number", true},
                                              {"Tensor"},
                                              {"Device"}},
                                             rows,
                                             report.live_owners->size()));
}

}  // namespace

std::string live_view(const model::Report& report) {
    const std::string contents = growing_section(report) + live_section(report);
    return contents.empty() ? contents : "<div id=\"live\">\n" + contents + "</div>\n";
}

}  // namespace cyclewatch::render
