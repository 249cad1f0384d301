// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include "base/text.h"
#include "render/graph/graphviz.h"
#include "render/graph/picture_graph.h"
#include "render/picture_text.h"
#include "render/renderer.h"

namespace cyclewatch::render {
namespace {

constexpr std::size_t kTitleColumns = 100;

void add_cluster(Agraph_t* graph, const model::Finding& finding, std::size_t rank) {
    const std::string prefix = "f" + std::to_string(rank);
    std::string name = "cluster_" + prefix;
    Agraph_t* const cluster = agsubg(graph, name.data(), 1);
    std::string label = "#" + std::to_string(rank) + "  " +
                        base::format_bytes(model::reached_bytes(finding)) + "  " +
                        base::escape_dot_label(
                            base::truncate_middle(base::shown_name(finding.title), kTitleColumns));
    if (const std::uint64_t more = undrawn_items(finding.picture); more > 0) {
        label += "\\nand " + base::counted(more, "more object") + " not drawn";
    }
    set_attribute(cluster, "label", label);
    add_picture(cluster, finding.picture, prefix + "n");
}

}  // namespace

std::string render_dot(const model::Report& report) {
    const GraphvizSession session;
    Graph graph("cyclewatch");
    graph.use([&report](Agraph_t* root) {
        set_picture_defaults(root);
        const std::size_t shown = std::min(report.findings.size(), kMaxDrawnFindings);
        for (std::size_t i = 0; i < shown; ++i) {
            add_cluster(root, report.findings[i], i + 1);
        }
        if (shown < report.findings.size()) {
            const std::size_t more = report.findings.size() - shown;
            set_attribute(root, "label", "and " + base::counted(more, "more finding"));
        }
    });
    return graph.dot();
}

}  // namespace cyclewatch::render
