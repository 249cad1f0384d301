// SPDX-License-Identifier: Apache-2.0
#include "render/dot_renderer.h"

#include <algorithm>
#include <vector>

#include "base/byte_size.h"
#include "render/labels.h"

namespace cyclewatch::render {
namespace {

using model::Picture;

constexpr std::size_t kTextColumns = 40;

// cgraph takes char* for what it only reads.
char* c_text(const char* text) {
    return const_cast<char*>(text);
}

void set(void* thing, const char* name, const std::string& value) {
    agsafeset(thing, c_text(name), c_text(value.c_str()), c_text(""));
}

std::string label_line(const std::string& text, std::size_t columns) {
    return escape_dot_label(truncate_middle(shown_name(text), columns));
}

std::string item_label(const Picture::Item& item) {
    std::string label = label_line(item.text, kTextColumns);
    if (item.owner) {
        label += "\\n" + base::format_bytes(item.bytes);
    }
    return label;
}

Agnode_t* add_item(Agraph_t* graph, const Picture::Item& item, const std::string& id) {
    Agnode_t* node = agnode(graph, c_text(id.c_str()), 1);
    set(node, "id", id);
    set(node, "label", item_label(item));
    set(node, "tooltip", escape_dot_label(shown_name(item.detail)));
    set(node, "class", item.owner ? "item owner" : item.on_loop ? "item loop" : "item");
    if (item.on_loop) {
        set(node, "color", "#3949ab");
        set(node, "penwidth", "2");
    }
    if (item.owner) {
        set(node, "color", "#00796b");
        set(node, "fillcolor", "#e0f2f1");
        set(node, "shape", "box");
        set(node, "style", "filled");
    }
    return node;
}

void add_arrow(Agraph_t* graph,
               const Picture::Arrow& arrow,
               Agnode_t* from,
               Agnode_t* to,
               const std::string& id) {
    // A key of its own: two references between the same objects are two edges.
    Agedge_t* edge = agedge(graph, from, to, c_text(id.c_str()), 1);
    set(edge, "id", id);
    set(edge, "class", arrow.cut ? "arrow cut" : arrow.on_loop ? "arrow loop" : "arrow");
    const std::string text = label_line(arrow.label, kTextColumns);
    // The spaces keep the text off the line, which Graphviz draws as close as it can.
    set(edge, "label", (arrow.cut ? "  cut: " : "  ") + text + "  ");
    if (arrow.on_loop) {
        set(edge, "color", "#3949ab");
        set(edge, "penwidth", "2");
    }
    if (arrow.cut) {
        set(edge, "color", "#c62828");
        set(edge, "fontcolor", "#c62828");
        set(edge, "style", "dashed");
    }
}

std::string cluster_label(const model::Finding& finding, std::size_t rank) {
    return "#" + std::to_string(rank) + "  " + base::format_bytes(model::reached_bytes(finding)) +
           "  " + label_line(finding.title, 100);
}

}  // namespace

void set_picture_style(Agraph_t* root) {
    const auto graph_default = [root](const char* name, const char* value) {
        agattr(root, AGRAPH, c_text(name), c_text(value));
    };
    const auto node_default = [root](const char* name, const char* value) {
        agattr(root, AGNODE, c_text(name), c_text(value));
    };
    const auto edge_default = [root](const char* name, const char* value) {
        agattr(root, AGEDGE, c_text(name), c_text(value));
    };
    // Graphviz knows the width of these two by heart and asks no font system. Courier inside
    // the picture: fixed-width fonts are equally wide everywhere, so no text leaves its box.
    graph_default("fontname", "Helvetica");
    graph_default("bgcolor", "transparent");
    graph_default("linelength", "0");  // names are never broken over lines of the file
    graph_default("nslimit", "4");     // bounds the effort of the layout
    graph_default("nslimit1", "4");
    graph_default("mclimit", "0.5");
    node_default("fontname", "Courier");
    node_default("fontsize", "12");
    node_default("shape", "box");
    node_default("style", "rounded");
    node_default("label", "");
    edge_default("fontname", "Courier");
    edge_default("fontsize", "10");
    edge_default("label", "");
}

void add_picture(Agraph_t* graph, const model::Finding& finding, std::size_t rank) {
    const Picture& picture = finding.picture;
    const std::string prefix = "f" + std::to_string(rank);
    std::vector<Agnode_t*> nodes;
    const std::size_t shown = std::min(picture.items.size(), kMaxDrawnItems);
    for (std::size_t i = 0; i < shown; ++i) {
        nodes.push_back(add_item(graph, picture.items[i], prefix + "n" + std::to_string(i)));
    }
    std::size_t arrows = 0;
    for (std::size_t i = 0; i < picture.arrows.size() && arrows < kMaxDrawnArrows; ++i) {
        const Picture::Arrow& arrow = picture.arrows[i];
        if (arrow.from < nodes.size() && arrow.to < nodes.size()) {
            add_arrow(
                graph, arrow, nodes[arrow.from], nodes[arrow.to], prefix + "a" + std::to_string(i));
            ++arrows;
        }
    }
    const std::uint64_t omitted = picture.omitted_items + (picture.items.size() - shown);
    if (omitted > 0) {
        const std::string id = prefix + "more";
        Agnode_t* more = agnode(graph, c_text(id.c_str()), 1);
        set(more, "shape", "plaintext");
        set(more, "class", "more");
        set(more, "label", "and " + std::to_string(omitted) + " more objects");
    }
}

base::Result<std::string> render_dot(const model::Report& report) {
    const GraphvizSession graphviz;
    const GraphHandle root = graphviz.new_graph("cyclewatch");
    if (!root) {
        return base::Error{"Graphviz could not make a graph: " + graphviz.complaints()};
    }
    set_picture_style(root.get());
    agattr(root.get(), AGRAPH, c_text("label"), c_text(""));
    const std::size_t shown = std::min(report.findings.size(), kMaxDrawnFindings);
    for (std::size_t i = 0; i < shown; ++i) {
        const std::string name = "cluster_f" + std::to_string(i + 1);
        Agraph_t* cluster = agsubg(root.get(), c_text(name.c_str()), 1);
        set(cluster, "label", cluster_label(report.findings[i], i + 1));
        add_picture(cluster, report.findings[i], i + 1);
    }
    if (shown < report.findings.size()) {
        set(root.get(),
            "label",
            "and " + std::to_string(report.findings.size() - shown) + " more findings");
    }
    return graphviz.write_dot(root.get());
}

}  // namespace cyclewatch::render
