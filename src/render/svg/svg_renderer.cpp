// SPDX-License-Identifier: Apache-2.0
#include "render/svg/svg_renderer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>
#include <string_view>

#include "base/text.h"
#include "render/graph/picture_layout.h"
#include "render/picture_text.h"
#include "render/summary.h"

namespace cyclewatch::render {
namespace {

using model::Picture;

// A wider drawing is not shrunk below this width, but scrolls in a narrow window (cards.css).
constexpr double kScrollWidth = 520;

std::string xy(Point point) {
    return svg_number(point.x) + " " + svg_number(point.y);
}

std::string text_at(Point at, std::string_view style, const std::string& text) {
    return "<text class=\"" + std::string(style) + "\" x=\"" + svg_number(at.x) + "\" y=\"" +
           svg_number(at.y) + "\">" + base::escape_markup(text) + "</text>\n";
}

// A bar along the lower edge of an owner's box. The length of the bar shows the owner's size
// relative to the largest owner's size, which has the length `room`.
std::string size_bar(const PictureBox& box, double room, double share) {
    const double y = box.centre.y + box.height / 2 - 7;
    const double x = box.centre.x - room / 2;
    return svg_rectangle("weight-room", x, y, room, 3, 1.5) + "\n" +
           svg_rectangle("weight", x, y, std::max(2.0, room * share), 3, 1.5) + "\n";
}

// The hexagon of Graphviz, at which it ends the lines.
std::string hexagon(const PictureBox& box) {
    const double width = box.width / 2;
    const double height = box.height / 2;
    const auto corner = [&box](double x, double y) {
        return xy({box.centre.x + x, box.centre.y + y});
    };
    return "<path class=\"box\" d=\"M" + corner(-width, 0) + "L" + corner(-width / 2, -height) +
           "L" + corner(width / 2, -height) + "L" + corner(width, 0) + "L" +
           corner(width / 2, height) + "L" + corner(-width / 2, height) + "Z\"/>";
}

std::string draw_box(const Picture::Item& item, const PictureBox& box, double share) {
    const BoxText text = box_text(item);
    const double left = box.centre.x - box.width / 2;
    const double top = box.centre.y - box.height / 2;
    std::string out = "<g class=\"";
    out += item.owner ? "item owner" : item.on_cycle ? "item cycle" : "item";
    out += "\">\n<title>" + tooltip_markup(item) + "</title>\n";
    const bool is_hexagon = item.hides_references.value_or(false);
    out += is_hexagon ? hexagon(box)
                      : svg_rectangle("box", left, top, box.width, box.height, item.owner ? 3 : 9);
    out += "\n";
    if (text.second_line.empty()) {
        out += text_at({box.centre.x, box.centre.y + 4.5}, "name", text.name);
    } else {
        const double up = item.owner ? 5 : 3;
        out += text_at({box.centre.x, box.centre.y - up}, "name", text.name);
        out += text_at({box.centre.x, box.centre.y + 16 - up}, "detail", text.second_line);
    }
    if (item.owner && item.bytes > 0) {
        out += size_bar(box, is_hexagon ? box.width / 2 : box.width - 16, share);
    }
    return out + "</g>\n";
}

std::string curve_path(const std::vector<Point>& curve) {
    std::string path = "M" + xy(curve.front());
    for (std::size_t i = 1; i + 2 < curve.size(); i += 3) {
        path += "C" + xy(curve[i]) + " " + xy(curve[i + 1]) + " " + xy(curve[i + 2]);
    }
    return path;
}

// Draws a filled triangle instead of an SVG marker, because markers need ids that are unique in the
// page.
std::string arrow_head(Point base, Point tip) {
    const double dx = (tip.x - base.x) * 0.42;
    const double dy = (tip.y - base.y) * 0.42;
    const Point left{base.x - dy, base.y + dx};
    const Point right{base.x + dy, base.y - dx};
    return "<path class=\"head\" d=\"M" + xy(tip) + "L" + xy(left) + "L" + xy(right) + "Z\"/>\n";
}

std::string line_style(const Picture& picture, const PictureLine& line) {
    const auto any = [&](bool Picture::Arrow::*property) {
        return std::any_of(line.arrows.begin(), line.arrows.end(), [&](std::size_t i) {
            return picture.arrows[i].*property;
        });
    };
    if (any(&Picture::Arrow::cut)) {
        return "arrow cut";
    }
    return any(&Picture::Arrow::on_cycle) ? "arrow cycle" : "arrow";
}

std::string draw_line(const Picture& picture, const PictureLine& line) {
    if (line.curve.empty()) {
        return {};
    }
    return "<g class=\"" + line_style(picture, line) + "\">\n<path class=\"line\" d=\"" +
           curve_path(line.curve) + "\"/>\n" + arrow_head(line.curve.back(), line.tip) + "</g>\n";
}

std::string draw_labels(const Picture& picture, const PictureLine& line) {
    std::string out;
    const double rows = static_cast<double>(line.arrows.size());
    double y = line.label.y + 4 - kLabelRow * (rows - 1) / 2;
    for (const std::size_t i : line.arrows) {
        const std::string style = picture.arrows[i].cut        ? "label cut"
                                  : picture.arrows[i].on_cycle ? "label cycle"
                                                               : "label";
        if (const std::string text = arrow_text(picture.arrows[i]); !text.empty()) {
            out += text_at({line.label.x, y}, style, text);
        }
        y += kLabelRow;
    }
    return out;
}

constexpr double kImageMargin = 16;
constexpr double kHeading = 40;  // above each picture
constexpr double kLeastImageWidth = 640;

// The colours of viewer/src/style, without CSS variables, which SVG converters do not support.
constexpr std::string_view kStyle = R"(<style>
text{font-family:Helvetica,Arial,sans-serif;fill:#191d25}
.diagram text{font-family:ui-monospace,Menlo,Consolas,"DejaVu Sans Mono",monospace;text-anchor:middle}
.page{fill:#fff}
.diagram .name{font-size:13px;font-weight:600}
.diagram .detail,.diagram .label{font-size:11px;fill:#565e6d}
.box{fill:#fff;stroke:#565e6d;stroke-width:1.2}
.item.cycle .box{fill:#eef0fd;stroke:#3d4db8;stroke-width:2}
.item.owner .box{fill:#d0eee6;stroke:#0a6e5f;stroke-width:2}
.weight-room{fill:#dfe3ea}
.weight{fill:#0a6e5f}
.line{fill:none;stroke:#565e6d;stroke-width:1.3}
.head{fill:#565e6d}
.arrow.cycle .line{stroke:#3d4db8;stroke-width:2.4}
.arrow.cycle .head,.diagram .label.cycle{fill:#3d4db8}
.arrow.cut .line{stroke:#bf262c;stroke-width:2.6;stroke-dasharray:7 4}
.arrow.cut .head,.diagram .label.cut{fill:#bf262c}
.diagram .label.cycle{font-weight:600}
.diagram .label.cut{font-weight:700;text-decoration:underline}
@media (prefers-color-scheme:dark){
text{fill:#e8eaf0}
.page{fill:#15181f}
.diagram .detail,.diagram .label{fill:#a5adbc}
.box{fill:#1a1d25;stroke:#a5adbc}
.item.cycle .box{fill:#262b47;stroke:#a5b0ff}
.item.owner .box{fill:#17443c;stroke:#5cc9b5}
.weight-room{fill:#2f3541}
.weight{fill:#5cc9b5}
.line{stroke:#a5adbc}
.head{fill:#a5adbc}
.arrow.cycle .line{stroke:#a5b0ff}
.arrow.cycle .head,.diagram .label.cycle{fill:#a5b0ff}
.arrow.cut .line{stroke:#ff8f8a}
.arrow.cut .head,.diagram .label.cut{fill:#ff8f8a}
}
</style>
)";

// The origin of a sample is the start of the text's base line.
struct LegendEntry {
    std::string_view sample;
    std::string_view text;
    bool (*shown)(const Picture& picture);
};

constexpr std::array<LegendEntry, 4> kLegend{{
    {R"(<g class="arrow cycle"><path class="line" d="M0 -4H20"/></g>)",
     "the cycle",
     [](const Picture& picture) {
         return std::ranges::any_of(picture.arrows, &Picture::Arrow::on_cycle);
     }},
    {R"(<g class="arrow cut"><path class="line" d="M0 -4H20"/></g>)",
     "cut here",
     [](const Picture& picture) {
         return std::ranges::any_of(picture.arrows, &Picture::Arrow::cut);
     }},
    {R"(<g class="item owner"><rect class="box" x="1" y="-10" width="18" height="11" rx="2"/></g>)",
     "owners of device memory",
     [](const Picture& picture) {
         return std::ranges::any_of(picture.items, &Picture::Item::owner);
     }},
    {R"(<path class="box" d="M0 -4.5L5 -10H15L20 -4.5L15 1H5Z"/>)",
     "references hidden from the collector",
     [](const Picture& picture) { return !hiding_items(picture).empty(); }},
}};

std::string text_element(double y, int size, const std::string& text) {
    return "<text x=\"" + svg_number(kImageMargin) + "\" y=\"" + svg_number(y) + "\" font-size=\"" +
           std::to_string(size) + "\">" + base::escape_markup(text) + "</text>\n";
}

std::string heading(const model::Finding& finding, std::size_t rank) {
    return "#" + std::to_string(rank) + ": " + base::format_bytes(model::reached_bytes(finding)) +
           " in " + base::counted(finding.occurrences, "cycle") + ": " +
           base::truncate_middle(base::shown_name(finding.title), 110);
}

// The document under construction.
struct Sheet {
    std::string body;
    double y = 0;
    double width = kLeastImageWidth;

    void add_text(double below, int size, const std::string& text) {
        y += below;
        body += text_element(y, size, text);
        width = std::max(
            width, 2 * kImageMargin + 0.55 * size * static_cast<double>(base::text_width(text)));
    }

    void add_drawing(const Drawing& drawing) {
        y += kImageMargin;
        body += "<g transform=\"translate(" + svg_number(kImageMargin) + " " + svg_number(y) +
                ")\">\n" + drawing.svg + "</g>\n";
        y += drawing.height;
        width = std::max(width, 2 * kImageMargin + drawing.width);
    }

    // Explains the colours that occur in the pictures.
    void add_legend(std::span<const model::Finding> findings) {
        constexpr double kEntryGap = 22;
        constexpr double kKeyWidth = 26;  // sample and the gap after it
        y += 1.5 * kImageMargin;
        double x = kImageMargin;
        for (const auto& [sample, text, shown] : kLegend) {
            if (std::ranges::none_of(findings, shown, &model::Finding::picture)) {
                continue;
            }
            body += "<g transform=\"translate(" + svg_number(x) + " " + svg_number(y) + ")\">" +
                    std::string(sample) + "<text x=\"" + svg_number(kKeyWidth) +
                    "\" font-size=\"12\">" + std::string(text) + "</text></g>\n";
            x += kKeyWidth + 6.2 * static_cast<double>(text.size()) + kEntryGap;
        }
        width = std::max(width, x - kEntryGap + kImageMargin);
    }

    void add_picture(const model::Finding& finding, std::size_t rank) {
        const Drawing drawing = draw_picture(finding.picture, rank);
        if (drawing.svg.empty() && !finding.picture.items.empty()) {
            add_text(kImageMargin, 12, std::string(kNotLaidOut));
            return;
        }
        add_drawing(drawing);
        if (const std::uint64_t more = undrawn_items(finding.picture); more > 0) {
            add_text(kImageMargin, 12, "and " + base::counted(more, "more object") + " not drawn");
        }
    }

    [[nodiscard]] std::string document(const std::string& title,
                                       const std::string& description) const {
        const std::string size_x = svg_number(width);
        const std::string size_y = svg_number(y + kImageMargin);
        return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" +
               size_x + "\" height=\"" + size_y + "\" viewBox=\"0 0 " + size_x + " " + size_y +
               "\" role=\"img\">\n<title>" + title + "</title>\n<desc>" +
               base::escape_markup(description) + "</desc>\n" + std::string(kStyle) +
               "<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n" + body + "</svg>\n";
    }
};

std::string single_picture(const model::Finding& finding,
                           const std::string& title,
                           const std::string& description) {
    Sheet sheet;
    sheet.width = 0;
    sheet.add_picture(finding, 1);
    sheet.add_legend({&finding, 1});
    return sheet.document(title, description);
}

}  // namespace

std::string svg_number(double value) {
    if (!std::isfinite(value) || std::abs(value) > 1e7) {
        return "0";
    }
    const double rounded = std::round(value * 10) / 10;
    std::array<char, 32> text{};
    const auto end = std::to_chars(text.data(), text.data() + text.size(), rounded + 0.0);
    return {text.data(), end.ptr};
}

std::string svg_rectangle(
    std::string_view style, double x, double y, double width, double height, double corner) {
    std::string out = "<rect class=\"";
    out.append(style).append("\" x=\"").append(svg_number(x));
    out.append("\" y=\"").append(svg_number(y));
    out.append("\" width=\"").append(svg_number(width));
    out.append("\" height=\"").append(svg_number(height));
    if (corner > 0) {
        out.append("\" rx=\"").append(svg_number(corner));
    }
    return out + "\"/>";
}

Drawing draw_picture(const Picture& picture, std::size_t rank) {
    const std::optional<PictureLayout> layout = lay_out_picture(picture);
    if (!layout || layout->boxes.empty()) {
        return {};
    }
    std::uint64_t largest = 0;
    for (const Picture::Item& item : picture.items) {
        largest = std::max(largest, item.owner ? item.bytes : 0);
    }
    const std::string id = "f" + std::to_string(rank);
    const std::string width = svg_number(layout->width);
    const std::string height = svg_number(layout->height);
    const bool wide = layout->width > kScrollWidth;
    std::string out = std::string("<svg class=\"diagram") + (wide ? " wide" : "") +
                      "\" role=\"img\" aria-labelledby=\"" + id + "t " + id + "d\" width=\"" +
                      width + "\" height=\"" + height + "\" viewBox=\"0 0 " + width + " " + height +
                      "\">\n<title id=\"" + id +
                      "t\">Diagram of the reference cycle</title>\n<desc id=\"" + id + "d\">" +
                      base::escape_markup(describe_picture(picture)) + "</desc>\n";
    for (const PictureLine& line : layout->lines) {
        out += draw_line(picture, line);
    }
    for (std::size_t i = 0; i < layout->boxes.size(); ++i) {
        const Picture::Item& item = picture.items[i];
        out += draw_box(item, layout->boxes[i], share_of(item.bytes, largest));
    }
    for (const PictureLine& line : layout->lines) {
        out += draw_labels(picture, line);
    }
    return {out + "</svg>\n", layout->width, layout->height};
}

std::string render_svg(const model::Report& report) {
    const std::string sentence = summary_sentence(report);
    const std::size_t shown = std::min(report.findings.size(), kMaxDrawnFindings);
    Sheet sheet;
    sheet.add_text(30, 15, sentence);
    if (shown > 0) {
        sheet.add_legend({report.findings.data(), shown});
    }
    for (std::size_t i = 0; i < shown; ++i) {
        const model::Finding& finding = report.findings[i];
        sheet.add_text(kHeading, 13, heading(finding, i + 1));
        sheet.add_picture(finding, i + 1);
    }
    if (shown < report.findings.size()) {
        const std::size_t more = report.findings.size() - shown;
        sheet.add_text(kHeading, 13, "and " + base::counted(more, "more finding"));
    }
    return sheet.document("cyclewatch report", sentence);
}

std::string render_svg(const model::Finding& finding) {
    return single_picture(finding, "Diagram of the reference cycle", headline(finding));
}

std::string render_svg(const model::Picture& picture, const std::string& description) {
    model::Finding finding;
    finding.picture = picture;
    return single_picture(finding, "Diagram of objects", description);
}

}  // namespace cyclewatch::render
