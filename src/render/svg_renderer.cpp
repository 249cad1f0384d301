// SPDX-License-Identifier: Apache-2.0
#include "render/svg_renderer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string_view>
#include <vector>

#include "base/byte_size.h"
#include "render/dot_renderer.h"
#include "render/graphviz_handles.h"
#include "render/labels.h"
#include "render/summary.h"
#include "render/svg_numbers.h"

namespace cyclewatch::render {
namespace {

constexpr double kMargin = 16;
constexpr double kHeading = 40;  // above each picture
constexpr double kLeastWidth = 640;

// Colours for a dark page; the light ones are in the drawing itself.
constexpr std::string_view kStyle =
    "<style>\n"
    "text{font-family:Helvetica,Arial,sans-serif;fill:#1d2129}\n"
    "svg svg text{font-family:ui-monospace,Menlo,Consolas,\"DejaVu Sans Mono\",monospace}\n"
    ".page{fill:#fff}.cut text{fill:#c62828;text-decoration:underline}\n"
    "@media (prefers-color-scheme:dark){text{fill:#e7e9ee}.page{fill:#16181d}\n"
    ".item path,.item polygon,.arrow path{stroke:#9aa3b2}.arrow polygon{stroke:#9aa3b2;"
    "fill:#9aa3b2}\n"
    ".loop path,.loop polygon{stroke:#9fa8ff}.arrow.loop polygon{fill:#9fa8ff}\n"
    ".owner polygon{stroke:#4db6a6;fill:#10312d}.cut text{fill:#ff8a80}\n"
    ".cut path,.arrow.cut polygon{stroke:#ff8a80}.arrow.cut polygon{fill:#ff8a80}}\n"
    "</style>\n";

// The number after `key` in `text`; each is read where the one before ended.
bool read_view_box(std::string_view text, std::array<double, 4>& box) {
    constexpr std::string_view kKey = "viewBox=\"";
    const std::size_t start = text.find(kKey);
    if (start == std::string_view::npos) {
        return false;
    }
    const char* at = text.data() + start + kKey.size();
    const char* end = text.data() + text.size();
    for (double& number : box) {
        while (at < end && *at == ' ') {
            ++at;
        }
        const auto read = std::from_chars(at, end, number);
        if (read.ec != std::errc{}) {
            return false;
        }
        at = read.ptr;
    }
    return true;
}

// What a pointer over the element shows: names that did not fit, not Graphviz's node names.
std::string tooltip(const model::Finding& finding, std::string_view name) {
    const std::size_t kind = name.find('n');
    std::size_t index = 0;
    if (kind == std::string_view::npos ||
        std::from_chars(name.data() + kind + 1, name.data() + name.size(), index).ec !=
            std::errc{} ||
        index >= finding.picture.items.size()) {
        return {};
    }
    const model::Picture::Item& item = finding.picture.items[index];
    return escape_markup(shown_name(item.detail.empty() ? item.text : item.detail));
}

// Takes the drawing out of Graphviz's document: no prologue, no comments, better titles.
base::Result<Drawing> take_drawing(const std::string& document, const model::Finding& finding) {
    Drawing drawing;
    std::array<double, 4> box{};
    const std::size_t open = document.find("<svg");
    const std::size_t start = open == std::string::npos ? open : document.find('>', open);
    const std::size_t end = document.rfind("</svg>");
    if (start == std::string::npos || end == std::string::npos || end < start ||
        !read_view_box(std::string_view(document).substr(open, start - open), box)) {
        return base::Error{"Graphviz returned a picture in a form this cyclewatch does not know"};
    }
    drawing.left = box[0];
    drawing.top = box[1];
    drawing.width = box[2];
    drawing.height = box[3];
    std::string_view rest = std::string_view(document).substr(start + 1, end - start - 1);
    while (!rest.empty()) {
        const std::size_t length = std::min(rest.find('\n'), rest.size());
        const std::string_view line = rest.substr(0, length);
        rest.remove_prefix(std::min(length + 1, rest.size()));
        constexpr std::string_view kTitle = "<title>";
        if (line.starts_with("<!--") || line.empty()) {
            continue;  // names of nodes, which are ours, and of no use
        }
        if (line.starts_with(kTitle)) {
            const std::string_view name = line.substr(kTitle.size(), line.find("</") - 7);
            const bool arrow = name.find('&') != std::string_view::npos;
            const std::string text = arrow ? std::string() : tooltip(finding, name);
            if (!text.empty()) {
                drawing.body += "<title>" + text + "</title>\n";
            }
            continue;
        }
        drawing.body.append(line).append("\n");
    }
    return drawing;
}

std::string picture_element(const Drawing& drawing, double y) {
    return "<svg x=\"" + svg_number(kMargin) + "\" y=\"" + svg_number(y) + "\" width=\"" +
           svg_number(drawing.width) + "\" height=\"" + svg_number(drawing.height) +
           "\" viewBox=\"" + svg_number(drawing.left) + " " + svg_number(drawing.top) + " " +
           svg_number(drawing.width) + " " + svg_number(drawing.height) + "\">\n" + drawing.body +
           "</svg>\n";
}

std::string text_element(double y, int size, const std::string& text) {
    return "<text x=\"" + svg_number(kMargin) + "\" y=\"" + svg_number(y) + "\" font-size=\"" +
           std::to_string(size) + "\">" + escape_markup(text) + "</text>\n";
}

std::string heading(const model::Finding& finding, std::size_t rank) {
    return "#" + std::to_string(rank) + ": " + base::format_bytes(model::reached_bytes(finding)) +
           " in " + counted(finding.occurrences, "loop") + ": " +
           truncate_middle(shown_name(finding.title), 110);
}

}  // namespace

base::Result<Drawing> draw_picture(const model::Finding& finding, std::size_t rank) {
    const GraphvizSession graphviz;
    const std::string name = "f" + std::to_string(rank);
    const GraphHandle graph = graphviz.new_graph(name);
    if (!graph) {
        return base::Error{"Graphviz could not make a graph: " + graphviz.complaints()};
    }
    set_picture_style(graph.get());
    add_picture(graph.get(), finding, rank);
    // A tooltip would put every node into a link that leads nowhere; titles do its work here.
    for (Agnode_t* node = agfstnode(graph.get()); node != nullptr;
         node = agnxtnode(graph.get(), node)) {
        agsafeset(node, const_cast<char*>("tooltip"), const_cast<char*>(""), const_cast<char*>(""));
    }
    agsafeset(graph.get(),
              const_cast<char*>("id"),
              const_cast<char*>(name.c_str()),
              const_cast<char*>(""));
    const auto document = graphviz.draw_svg(graph.get());
    if (!document) {
        return base::Error{document.error()};
    }
    return take_drawing(document.value(), finding);
}

base::Result<std::string> render_svg(const model::Report& report) {
    const std::string sentence = summary_sentence(report);
    std::string body = text_element(30, 15, sentence);
    double y = 30;
    double width = std::max(kLeastWidth, 8.0 * static_cast<double>(text_width(sentence)));
    const std::size_t shown = std::min(report.findings.size(), kMaxDrawnFindings);
    for (std::size_t i = 0; i < shown; ++i) {
        const auto drawing = draw_picture(report.findings[i], i + 1);
        if (!drawing) {
            return base::Error{drawing.error()};
        }
        const std::string title = heading(report.findings[i], i + 1);
        body += text_element(y + kHeading, 13, title);
        y += kHeading + kMargin;
        body += picture_element(drawing.value(), y);
        y += drawing.value().height;
        width = std::max({width,
                          drawing.value().width + 2 * kMargin,
                          7.5 * static_cast<double>(text_width(title))});
    }
    if (shown < report.findings.size()) {
        y += kHeading;
        body +=
            text_element(y, 13, "and " + counted(report.findings.size() - shown, "more finding"));
    }
    const std::string size = svg_number(width) + "\" height=\"" + svg_number(y + kMargin);
    return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
           "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" +
           size + "\" viewBox=\"0 0 " + svg_number(width) + " " + svg_number(y + kMargin) +
           "\" role=\"img\">\n<title>cyclewatch report</title>\n<desc>" + escape_markup(sentence) +
           "</desc>\n" + std::string(kStyle) +
           "<rect class=\"page\" width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n" + body +
           "</svg>\n";
}

}  // namespace cyclewatch::render
