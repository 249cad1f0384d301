// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <string_view>

#include "base/text.h"
#include "render/picture_text.h"
#include "render/renderer.h"

namespace cyclewatch::render {
namespace {

using model::Picture;

constexpr std::size_t kTextColumns = 40;

// `label` is already escaped. The label may contain \n, which Graphviz renders as a line break.
std::string attribute(std::string_view name, std::string_view label) {
    std::string out(name);
    return out.append("=\"").append(label).append("\"");
}

std::string label_line(const std::string& text, std::size_t columns) {
    return base::escape_dot_label(base::truncate_middle(base::shown_name(text), columns));
}

std::string item_statement(const Picture::Item& item, const std::string& id) {
    std::string label = label_line(item.text, kTextColumns);
    if (item.owner) {
        label += "\\n" + base::format_bytes(item.bytes);
    }
    std::string out = "    " + id + " [" + attribute("label", label) + ", " +
                      attribute("tooltip", base::escape_dot_label(base::shown_name(item.detail)));
    if (item.owner) {
        out += ", color=\"#00796b\", fillcolor=\"#e0f2f1\", style=filled";
    } else if (item.on_cycle) {
        out += ", color=\"#3949ab\"";
    }
    return out + (item.on_cycle ? ", penwidth=2];\n" : "];\n");
}

std::string arrow_statement(const Picture::Arrow& arrow, const std::string& prefix) {
    // The spaces separate the label from the arrow, which Graphviz draws close to the text.
    const std::string label =
        (arrow.cut ? "  cut: " : "  ") + label_line(arrow.label, kTextColumns) + "  ";
    std::string out = "    " + prefix + std::to_string(arrow.from) + " -> " + prefix +
                      std::to_string(arrow.to) + " [" + attribute("label", label);
    if (arrow.cut) {
        out += ", color=\"#c62828\", fontcolor=\"#c62828\", style=dashed";
    } else if (arrow.on_cycle) {
        out += ", color=\"#3949ab\"";
    }
    return out + (arrow.on_cycle ? ", penwidth=2];\n" : "];\n");
}

std::string cluster(const model::Finding& finding, std::size_t rank) {
    const Picture& picture = finding.picture;
    const std::string prefix = "f" + std::to_string(rank) + "n";
    const std::string title = "#" + std::to_string(rank) + "  " +
                              base::format_bytes(model::reached_bytes(finding)) + "  " +
                              label_line(finding.title, 100);
    std::string out = "  subgraph cluster_f" + std::to_string(rank) + " {\n    " +
                      attribute("label", title) + ";\n";
    for (std::size_t i = 0; i < picture.items.size(); ++i) {
        out += item_statement(picture.items[i], prefix + std::to_string(i));
    }
    for (const Picture::Arrow& arrow : picture.arrows) {
        out += arrow_statement(arrow, prefix);
    }
    if (const std::uint64_t more = picture.omitted_items; more > 0) {
        const std::string label = "and " + base::counted(more, "more object");
        out += "    " + prefix + "_more [shape=plaintext, " + attribute("label", label) + "];\n";
    }
    return out + "  }\n";
}

// Characters in Courier have the same width on every system, so the text fits into its box. nslimit
// and mclimit limit the layout time.
constexpr std::string_view kStyle = R"(digraph cyclewatch {
  graph [fontname=Helvetica, bgcolor=transparent, nslimit=4, nslimit1=4, mclimit=0.5];
  node [fontname=Courier, fontsize=12, shape=box, style=rounded];
  edge [fontname=Courier, fontsize=10];
)";

}  // namespace

std::string render_dot(const model::Report& report) {
    std::string out(kStyle);
    const std::size_t shown = std::min(report.findings.size(), kMaxDrawnFindings);
    if (shown < report.findings.size()) {
        const std::size_t more = report.findings.size() - shown;
        out += "  " + attribute("label", "and " + base::counted(more, "more finding")) + ";\n";
    }
    for (std::size_t i = 0; i < shown; ++i) {
        out += cluster(report.findings[i], i + 1);
    }
    return out + "}\n";
}

}  // namespace cyclewatch::render
