// SPDX-License-Identifier: Apache-2.0
#include "render/ring_picture.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/byte_size.h"
#include "render/labels.h"
#include "render/picture_text.h"
#include "render/ring_layout.h"
#include "render/summary.h"
#include "render/svg_writer.h"

namespace cyclewatch::render {
namespace {

using model::Picture;

constexpr double kTip = 9;             // length of an arrow's head
constexpr double kLabelColumn = 6.65;  // width of a character on an arrow

std::string xy(Point point) {
    return svg_number(point.x) + " " + svg_number(point.y);
}

std::string text_at(Point at, std::string_view style, const std::string& text) {
    return "<text class=\"" + std::string(style) + "\" x=\"" + svg_number(at.x) + "\" y=\"" +
           svg_number(at.y) + "\">" + escape_markup(text) + "</text>\n";
}

// A bar along the lower edge: how much of the heaviest owner's bytes this one holds.
std::string weight_bar(const RingBox& box, double share) {
    const double room = box.width - 16;
    const double y = box.centre.y + box.height / 2 - 7;
    const double x = box.centre.x - room / 2;
    return svg_rectangle("weight-room", x, y, room, 3, 1.5) + "\n" +
           svg_rectangle("weight", x, y, std::max(2.0, room * share), 3, 1.5) + "\n";
}

std::string draw_box(const Picture::Item& item, const RingBox& box, double share) {
    const BoxText text = box_text(item);
    const double left = box.centre.x - box.width / 2;
    const double top = box.centre.y - box.height / 2;
    std::string out = "<g class=\"";
    out += item.owner ? "item owner" : item.on_loop ? "item loop" : "item";
    out += "\">\n<title>" +
           escape_markup(shown_name(item.detail.empty() ? item.text : item.detail)) + "</title>\n";
    out += svg_rectangle("box", left, top, box.width, box.height, item.owner ? 3 : 9) + "\n";
    if (text.second_line.empty()) {
        out += text_at({box.centre.x, box.centre.y + 4.5}, "name", text.name);
    } else {
        const double up = item.owner ? 5 : 3;
        out += text_at({box.centre.x, box.centre.y - up}, "name", text.name);
        out += text_at({box.centre.x, box.centre.y + 16 - up}, "detail", text.second_line);
    }
    if (item.owner) {
        out += weight_bar(box, share);
    }
    return out + "</g>\n";
}

std::string curve_path(const RingArrow& arrow) {
    std::string path = "M" + xy(arrow.curve.front());
    for (std::size_t i = 1; i + 2 < arrow.curve.size(); i += 3) {
        path +=
            "C" + xy(arrow.curve[i]) + " " + xy(arrow.curve[i + 1]) + " " + xy(arrow.curve[i + 2]);
    }
    return path;
}

// A filled triangle instead of an SVG marker: markers need ids, and ids must be unique.
std::string arrow_head(const RingArrow& arrow) {
    const Point tip = arrow.curve.back();
    const Point before = arrow.curve[arrow.curve.size() - 2];
    double dx = tip.x - before.x;
    double dy = tip.y - before.y;
    const double length = std::hypot(dx, dy);
    if (length < 1e-6) {
        return {};
    }
    dx *= kTip / length;
    dy *= kTip / length;
    const Point base{tip.x - dx, tip.y - dy};
    const Point left{base.x - dy * 0.42, base.y + dx * 0.42};
    const Point right{base.x + dy * 0.42, base.y - dx * 0.42};
    return "<path class=\"head\" d=\"M" + xy(tip) + "L" + xy(left) + "L" + xy(right) + "Z\"/>\n";
}

std::string arrow_style(const Picture& picture, const RingArrow& arrow) {
    const auto any = [&](auto property) {
        return std::any_of(arrow.arrows.begin(), arrow.arrows.end(), [&](std::size_t i) {
            return property(picture.arrows[i]);
        });
    };
    if (any([](const Picture::Arrow& a) { return a.cut; })) {
        return "arrow cut";
    }
    return any([](const Picture::Arrow& a) { return a.on_loop; }) ? "arrow loop" : "arrow";
}

std::string draw_line(const Picture& picture, const RingArrow& arrow) {
    return "<g class=\"" + arrow_style(picture, arrow) + "\">\n<path class=\"line\" d=\"" +
           curve_path(arrow) + "\"/>\n" + arrow_head(arrow) + "</g>\n";
}

std::string draw_labels(const Picture& picture, const RingArrow& arrow) {
    std::string out;
    const double lines = static_cast<double>(arrow.arrows.size());
    double y = arrow.label.y + 4 - kLabelLine * (lines - 1) / 2;
    for (const std::size_t i : arrow.arrows) {
        const std::string style = picture.arrows[i].cut       ? "label cut"
                                  : picture.arrows[i].on_loop ? "label loop"
                                                              : "label";
        const std::string text = arrow_text(picture.arrows[i]);
        if (text.empty()) {
            continue;
        }
        const double width = kLabelColumn * static_cast<double>(text_width(text)) + 8;
        // Hides the line behind the label; the text itself could only be outlined.
        out +=
            svg_rectangle("label-ground", arrow.label.x - width / 2, y - 11, width, 15, 3) + "\n";
        out += text_at({arrow.label.x, y}, style, text);
        y += kLabelLine;
    }
    return out;
}

}  // namespace

RingDrawing draw_ring(const Picture& picture, std::size_t rank) {
    const RingLayout layout = lay_out_ring(picture);
    if (layout.boxes.empty()) {
        return {};
    }
    std::uint64_t heaviest = 0;
    for (const Picture::Item& item : picture.items) {
        heaviest = std::max(heaviest, item.owner ? item.bytes : 0);
    }
    const std::string id = "f" + std::to_string(rank);
    const std::string width = svg_number(layout.width);
    const std::string height = svg_number(layout.height);
    std::string out = "<svg class=\"ring\" role=\"img\" aria-labelledby=\"" + id + "t " + id +
                      "d\" width=\"" + width + "\" height=\"" + height + "\" viewBox=\"0 0 " +
                      width + " " + height + "\">\n<title id=\"" + id +
                      "t\">The loop as a ring</title>\n<desc id=\"" + id + "d\">" +
                      escape_markup(describe_picture(picture)) + "</desc>\n";
    // Lines below boxes below labels: a label must never be struck through.
    for (const RingArrow& arrow : layout.arrows) {
        out += draw_line(picture, arrow);
    }
    for (std::size_t i = 0; i < layout.boxes.size(); ++i) {
        const Picture::Item& item = picture.items[i];
        out += draw_box(item, layout.boxes[i], share_of(item.bytes, heaviest));
    }
    for (const RingArrow& arrow : layout.arrows) {
        out += draw_labels(picture, arrow);
    }
    return {out + "</svg>\n", layout.width, layout.height};
}

}  // namespace cyclewatch::render
