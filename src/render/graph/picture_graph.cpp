// SPDX-License-Identifier: Apache-2.0
#include "render/graph/picture_graph.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <numeric>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "render/picture_text.h"

namespace cyclewatch::render {
namespace {

using model::Picture;

constexpr double kPointsPerInch = 72;  // a point is a pixel of ours
constexpr double kNameColumn = 7.9;    // character width in the first line of a box
constexpr double kSmallColumn = 6.7;   // in the second line
constexpr double kPadding = 13;        // between text and border of a box
constexpr double kLeastWidth = 70;     // of a box
constexpr double kOneLine = 32;        // height of a box
constexpr double kTwoLines = 48;
constexpr double kHexagonWidth = 1.4;  // the width of a hexagon divided by that of its text
constexpr double kPageMargin = 14;
constexpr double kLabelRise = 3;  // above a line that runs left to right

// The size that is shown without scaling.
constexpr double kPageWidth = 860;
constexpr double kPageHeight = 620;

std::string inches(double pixels) {
    std::array<char, 32> text{};
    const auto end = std::to_chars(text.data(),
                                   text.data() + text.size(),
                                   pixels / kPointsPerInch,
                                   std::chars_format::fixed,
                                   4);
    return {text.data(), end.ptr};
}

void add_node_colors(Agnode_t* node, const Picture::Item& item) {
    if (item.owner) {
        set_attribute(node, "color", "#0a6e5f");
        set_attribute(node, "fillcolor", "#d0eee6");
        set_attribute(node, "penwidth", "2");
        set_attribute(node, "style", "filled");
    } else if (item.on_cycle) {
        set_attribute(node, "color", "#3d4db8");
        set_attribute(node, "fillcolor", "#eef0fd");
        set_attribute(node, "penwidth", "2");
    }
}

Agnode_t* add_node(Agraph_t* graph, const Picture::Item& item, std::string name) {
    Agnode_t* const node = agnode(graph, name.data(), 1);
    const BoxText text = box_text(item);
    const double width =
        std::max(kNameColumn * static_cast<double>(base::text_width(text.name)),
                 kSmallColumn * static_cast<double>(base::text_width(text.second_line)));
    const bool two_lines = !text.second_line.empty();
    const double needed = item.hides_references.value_or(false) ? kHexagonWidth * width : width;
    set_attribute(node, "width", inches(std::max(needed + 2 * kPadding, kLeastWidth)));
    set_attribute(node, "height", inches(two_lines ? kTwoLines : kOneLine));
    set_attribute(node,
                  "label",
                  base::escape_dot_label(text.name) +
                      (two_lines ? "\\n" + base::escape_dot_label(text.second_line) : ""));
    set_attribute(node, "tooltip", base::escape_dot_label(base::shown_name(item.detail)));
    add_node_colors(node, item);
    if (item.hides_references.value_or(false)) {
        set_attribute(node, "shape", "hexagon");
        set_attribute(node, "style", "filled");
    }
    return node;
}

bool any_arrow(const Picture& picture, const PictureLine& line, bool Picture::Arrow::*property) {
    return std::any_of(line.arrows.begin(), line.arrows.end(), [&](std::size_t i) {
        return picture.arrows[i].*property;
    });
}

Agedge_t* add_edge(Agraph_t* graph,
                   const Picture& picture,
                   const PictureElements& elements,
                   const PictureLine& line) {
    const Picture::Arrow& first = picture.arrows[line.arrows.front()];
    Agedge_t* const edge =
        agedge(graph, elements.nodes[first.from], elements.nodes[first.to], nullptr, 1);
    std::string label;
    for (const std::size_t i : line.arrows) {
        // The spaces separate the label from the line.
        label += (label.empty() ? " " : "\\n ") +
                 base::escape_dot_label(arrow_text(picture.arrows[i])) + " ";
    }
    set_attribute(edge, "label", label);
    const bool cut = any_arrow(picture, line, &Picture::Arrow::cut);
    const bool on_cycle = any_arrow(picture, line, &Picture::Arrow::on_cycle);
    if (cut) {
        set_attribute(edge, "color", "#bf262c");
        set_attribute(edge, "fontcolor", "#bf262c");
        set_attribute(edge, "style", "dashed");
        set_attribute(edge, "penwidth", "2.4");
    } else if (on_cycle) {
        set_attribute(edge, "color", "#3d4db8");
        set_attribute(edge, "fontcolor", "#3d4db8");
        set_attribute(edge, "penwidth", "2.4");
        set_attribute(edge, "weight", "4");  // draws the cycle as a straight column
    }
    return edge;
}

// The items in the order in which they are added. `dot` draws the references that return to its
// first node upwards, so the cycle starts at the target of the reference to cut.
std::vector<std::size_t> drawing_order(const Picture& picture, std::size_t boxes) {
    std::vector<std::size_t> order(boxes);
    std::iota(order.begin(), order.end(), 0);
    const auto cycle_end = std::find_if(
        order.begin(), order.end(), [&](std::size_t i) { return !picture.items[i].on_cycle; });
    const auto members = static_cast<std::size_t>(cycle_end - order.begin());
    for (const Picture::Arrow& arrow : picture.arrows) {
        if (arrow.cut && arrow.on_cycle && arrow.to < members) {
            std::rotate(order.begin(), order.begin() + arrow.to, cycle_end);
            break;
        }
    }
    return order;
}

// One line for each pair of holder and target, in the order of their first reference.
std::vector<PictureLine> group_arrows(const Picture& picture, std::size_t boxes) {
    std::vector<PictureLine> lines;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> known;
    for (std::size_t i = 0; i < picture.arrows.size(); ++i) {
        const Picture::Arrow& arrow = picture.arrows[i];
        if (std::max(arrow.from, arrow.to) >= boxes) {
            continue;
        }
        const auto [at, fresh] = known.try_emplace({arrow.from, arrow.to}, lines.size());
        if (fresh && lines.size() == kMostLines) {
            known.erase(at);
            continue;
        }
        if (fresh) {
            lines.emplace_back();
        }
        lines[at->second].arrows.push_back(i);
    }
    return lines;
}

// Graphviz's coordinates have y pointing up, and the lower left corner at the origin.
class LayoutReader {
  public:
    LayoutReader(Agraph_t* graph, const PictureElements& elements)
        : elements_(elements), label_rise_(GD_flip(graph) != 0 ? kLabelRise : 0) {
        const boxf bounds = GD_bb(graph);
        left_ = bounds.LL.x;
        top_ = bounds.UR.y;
        layout_.width = bounds.UR.x - bounds.LL.x + 2 * kPageMargin;
        layout_.height = bounds.UR.y - bounds.LL.y + 2 * kPageMargin;
    }

    PictureLayout read() {
        for (Agnode_t* const node : elements_.nodes) {
            layout_.boxes.push_back({point(ND_coord(node)),
                                     ND_width(node) * kPointsPerInch,
                                     ND_height(node) * kPointsPerInch});
        }
        for (std::size_t i = 0; i < elements_.edges.size(); ++i) {
            layout_.lines.push_back(elements_.lines[i]);
            read_line(elements_.edges[i], layout_.lines.back());
        }
        return std::move(layout_);
    }

  private:
    [[nodiscard]] Point point(pointf at) const {
        return {at.x - left_ + kPageMargin, top_ - at.y + kPageMargin};
    }

    void read_line(Agedge_t* edge, PictureLine& line) const {
        const splines* const curves = ED_spl(edge);
        if (curves == nullptr || curves->size == 0) {
            return;
        }
        const bezier& curve = curves->list[0];
        for (int i = 0; i < static_cast<int>(curve.size); ++i) {
            line.curve.push_back(point(curve.list[i]));
        }
        line.tip = curve.eflag != 0 ? point(curve.ep) : line.curve.back();
        const textlabel_t* const label = ED_label(edge);
        line.label = label != nullptr && label->set ? point(label->pos) : line.curve.front();
        line.label.y -= label_rise_;
    }

    const PictureElements& elements_;
    PictureLayout layout_;
    double label_rise_;
    double left_ = 0;
    double top_ = 0;
};

// The factor by which the picture is scaled to fit the page.
double scale_of(const PictureLayout& layout) {
    return std::min({1.0, kPageWidth / layout.width, kPageHeight / layout.height});
}

}  // namespace

void set_picture_defaults(Agraph_t* graph) {
    set_default(graph, AGRAPH, "bgcolor", "transparent");
    set_default(graph, AGRAPH, "fontname", "Helvetica");
    set_default(graph, AGRAPH, "nodesep", "0.28");
    set_default(graph, AGRAPH, "ranksep", "0.4");
    set_default(graph, AGRAPH, "rankdir", "TB");
    // Graphviz knows the widths of Courier without a font, so the layout is the same everywhere.
    set_default(graph, AGNODE, "fontname", "Courier");
    set_default(graph, AGNODE, "fontsize", "11");
    set_default(graph, AGNODE, "shape", "box");
    set_default(graph, AGNODE, "style", "rounded,filled");
    set_default(graph, AGNODE, "fixedsize", "true");
    set_default(graph, AGNODE, "color", "#565e6d");
    set_default(graph, AGNODE, "fillcolor", "#ffffff");
    set_default(graph, AGEDGE, "fontname", "Courier");
    set_default(graph, AGEDGE, "fontsize", "11");
    set_default(graph, AGEDGE, "color", "#565e6d");
    set_default(graph, AGEDGE, "fontcolor", "#565e6d");
    set_default(graph, AGEDGE, "arrowsize", "0.9");
}

PictureElements add_picture(Agraph_t* graph,
                            const model::Picture& picture,
                            const std::string& prefix) {
    PictureElements elements;
    const std::size_t boxes = std::min(picture.items.size(), kMostBoxes);
    elements.nodes.resize(boxes);
    for (const std::size_t i : drawing_order(picture, boxes)) {
        elements.nodes[i] = add_node(graph, picture.items[i], prefix + std::to_string(i));
    }
    elements.lines = group_arrows(picture, boxes);
    for (const PictureLine& line : elements.lines) {
        elements.edges.push_back(add_edge(graph, picture, elements, line));
    }
    return elements;
}

PictureGraph::PictureGraph(const model::Picture& picture) : graph_("cyclewatch") {
    graph_.use([&](Agraph_t* graph) {
        set_picture_defaults(graph);
        elements_ = add_picture(graph, picture, "n");
    });
}

std::optional<PictureLayout> PictureGraph::lay_out(const std::string& direction) {
    std::optional<PictureLayout> layout;
    const bool set =
        graph_.use([&](Agraph_t* graph) { set_attribute(graph, "rankdir", direction); });
    const bool done = set && graph_.lay_out([&](Agraph_t* graph) {
        layout = LayoutReader(graph, elements_).read();
    });
    return done ? layout : std::nullopt;
}

std::optional<PictureLayout> PictureGraph::lay_out() {
    std::optional<PictureLayout> down = lay_out("TB");
    if (!down || scale_of(*down) == 1) {
        return down;
    }
    std::optional<PictureLayout> right = lay_out("LR");
    return right && scale_of(*right) > scale_of(*down) ? right : down;
}

std::optional<PictureLayout> lay_out_picture(const model::Picture& picture) {
    return picture.items.empty() ? PictureLayout{} : PictureGraph(picture).lay_out();
}

}  // namespace cyclewatch::render
