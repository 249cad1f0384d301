// SPDX-License-Identifier: Apache-2.0
#include "analysis/collapsed_graph.h"

#include <utility>

#include "analysis/structural_references.h"

namespace cyclewatch::analysis {
namespace {

using model::NodeKind;
using model::PartRole;
using model::ReferenceGraph;

// A part with several holders gives each of them its references; more than this many would make
// a graph of n references grow like n squared, so such a part stays a node.
constexpr std::uint64_t kMostCopies = 256;

bool may_collapse(const model::Node& node) {
    return node.role != PartRole::none || node.kind == NodeKind::cell;
}

class Collapse {
  public:
    Collapse(const ReferenceGraph& graph,
             const std::vector<char>& keep,
             std::span<const std::uint32_t> copies)
        : graph_(graph),
          copies_(copies),
          hidden_(graph.nodes.size()),
          holders_(graph.nodes.size()) {
        for (std::size_t n = 0; n < hidden_.size(); ++n) {
            hidden_[n] = may_collapse(graph.nodes[n]) && keep[n] == 0;
        }
        count_holders();
        hide_tracebacks(keep);
        keep_crowded_and_unheld();
        keep_rings();
    }

    CollapsedGraph run() {
        CollapsedGraph collapsed;
        collapsed.raw = &graph_;
        collapsed.collapsed_of.assign(hidden_.size(), kNone);
        for (std::uint32_t n = 0; n < hidden_.size(); ++n) {
            if (!hidden_[n] && copies_[n] > 0) {
                collapsed.collapsed_of[n] = collapsed.nodes();
                collapsed.raw_node.push_back(n);
            }
        }
        collapsed.first.reserve(collapsed.raw_node.size() + 1);
        collapsed.first.push_back(0);
        for (std::uint32_t n = 0; n < collapsed.nodes(); ++n) {
            expand(collapsed, n);
            collapsed.first.push_back(static_cast<std::uint32_t>(collapsed.targets.size()));
        }
        return collapsed;
    }

  private:
    // One hidden node on the way from a holder, and the edge to follow next.
    struct Step {
        std::uint32_t node;
        std::uint32_t next_edge;
    };

    void count_holders() {
        for (const model::Edge& edge : graph_.edges) {
            ++holders_[index_of(edge.target)];
        }
    }

    // An exception has the frames of its traceback, and a traceback that somebody else holds too
    // has those of the rest of its chain: how deep below its handler something was raised is no
    // part of the matter.
    void hide_tracebacks(const std::vector<char>& keep) {
        for (const model::Edge& edge : graph_.edges) {
            const std::size_t target = index_of(edge.target);
            const std::string_view name = graph_.text(edge.label.name);
            if (graph_.nodes[target].kind == NodeKind::traceback && holders_[target] == 1 &&
                (name == "tb_next" || name == "__traceback__")) {
                hidden_[target] = keep[target] == 0;
            }
        }
    }

    void keep_crowded_and_unheld() {
        for (std::size_t n = 0; n < hidden_.size(); ++n) {
            if (!hidden_[n]) {
                continue;
            }
            const std::uint64_t out = graph_.first_edge[n + 1] - graph_.first_edge[n];
            const PartRole role = graph_.nodes[n].role;
            // A namespace is looked at from many sides: seen as one thing with its module only
            // where the module alone holds it.
            const bool shared_namespace =
                (role == PartRole::module_dict || role == PartRole::type_dict) && holders_[n] > 1;
            const bool crowded = out > 1 && holders_[n] > 1 && holders_[n] * out > kMostCopies;
            if (holders_[n] == 0 || shared_namespace || crowded) {
                hidden_[n] = false;
            }
        }
    }

    // Hidden nodes in a ring of hidden nodes (a cell that holds itself), or behind one, would
    // never be left or reached: they stay. Peels off what is not (Kahn, 1962).
    void keep_rings() {
        std::vector<std::uint32_t> hidden_holders(hidden_.size(), 0);
        std::vector<std::uint32_t> free_nodes;
        for_each_hidden_edge([&](std::size_t target) { ++hidden_holders[target]; });
        for (std::uint32_t n = 0; n < hidden_.size(); ++n) {
            if (hidden_[n] && hidden_holders[n] == 0) {
                free_nodes.push_back(n);
            }
        }
        std::vector<bool> peeled(hidden_.size(), false);
        while (!free_nodes.empty()) {
            const std::uint32_t n = free_nodes.back();
            free_nodes.pop_back();
            peeled[n] = true;
            for (const model::Edge& edge : graph_.edges_of(model::NodeId{n})) {
                const std::size_t target = index_of(edge.target);
                if (hidden_[target] && --hidden_holders[target] == 0) {
                    free_nodes.push_back(static_cast<std::uint32_t>(target));
                }
            }
        }
        for (std::size_t n = 0; n < hidden_.size(); ++n) {
            hidden_[n] = hidden_[n] && peeled[n];
        }
    }

    template <typename Visit>
    void for_each_hidden_edge(Visit visit) const {
        for (std::uint32_t n = 0; n < hidden_.size(); ++n) {
            if (!hidden_[n]) {
                continue;
            }
            for (const model::Edge& edge : graph_.edges_of(model::NodeId{n})) {
                if (hidden_[index_of(edge.target)]) {
                    visit(index_of(edge.target));
                }
            }
        }
    }

    // Follows the references of `holder`, through hidden nodes, to the next collapsed nodes.
    void expand(CollapsedGraph& collapsed, std::uint32_t holder) {
        trail_.clear();
        way_.clear();
        const std::uint32_t raw = collapsed.raw_node[holder];
        trail_.push_back({raw, graph_.first_edge[raw]});
        while (!trail_.empty()) {
            Step& step = trail_.back();
            if (step.next_edge == graph_.first_edge[step.node + 1]) {
                trail_.pop_back();
                if (!way_.empty()) {
                    way_.pop_back();
                }
                continue;
            }
            const std::uint32_t edge = step.next_edge++;
            const auto target = static_cast<std::uint32_t>(index_of(graph_.edges[edge].target));
            way_.push_back(edge);
            if (hidden_[target]) {
                trail_.push_back({target, graph_.first_edge[target]});
            } else {
                add_edge(collapsed, holder, target);
                way_.pop_back();
            }
        }
    }

    void add_edge(CollapsedGraph& collapsed, std::uint32_t holder, std::uint32_t raw_target) {
        CollapsedEdge edge;
        edge.holder = holder;
        edge.first_step = static_cast<std::uint32_t>(collapsed.steps.size());
        edge.step_count = static_cast<std::uint32_t>(way_.size());
        collapsed.steps.insert(collapsed.steps.end(), way_.begin(), way_.end());
        // A cell has no name of its own: the reference goes by what leads into the cell. So does
        // one through the traceback of an exception.
        std::size_t naming = way_.size() - 1;
        while (naming > 0 && is_variable(naming)) {
            edge.cell = trail_[naming].node;
            --naming;
        }
        edge.label = graph_.edges[way_[naming]].label;
        edge.structural = is_structural(
            graph_, graph_.nodes[collapsed.raw_node[holder]], edge.label, graph_.nodes[raw_target]);
        collapsed.targets.push_back(collapsed.collapsed_of[raw_target]);
        collapsed.edges.push_back(edge);
    }

    [[nodiscard]] bool is_variable(std::size_t step) const {
        const NodeKind kind = graph_.nodes[trail_[step].node].kind;
        const bool of_traceback = graph_.nodes[trail_[0].node].kind == NodeKind::traceback;
        return kind == NodeKind::cell || (kind == NodeKind::traceback && !of_traceback);
    }

    const ReferenceGraph& graph_;
    std::span<const std::uint32_t> copies_;
    std::vector<bool> hidden_;
    std::vector<std::uint32_t> holders_;
    std::vector<Step> trail_;         // trail_[0] is the holder
    std::vector<std::uint32_t> way_;  // way_[i] leads out of trail_[i]
};

// What a class's __mro__ and __bases__ refer to is as structural as the tuples themselves.
void mark_class_tuples(CollapsedGraph& collapsed) {
    for (std::uint32_t e = 0; e < collapsed.edges.size(); ++e) {
        const std::uint32_t target = collapsed.targets[e];
        const bool by_class = collapsed.edges[e].structural &&
                              collapsed.is(collapsed.edges[e].holder, NodeKind::type);
        if (!by_class || !collapsed.is(target, NodeKind::tuple)) {
            continue;
        }
        for (std::uint32_t out = collapsed.first[target]; out < collapsed.first[target + 1];
             ++out) {
            collapsed.edges[out].structural = true;
        }
    }
}

}  // namespace

bool CollapsedGraph::is_child_of_module(std::uint32_t edge) const {
    const CollapsedEdge& collapsed = edges[edge];
    if (collapsed.step_count < 2) {
        return false;
    }
    const std::uint32_t into = steps[collapsed.first_step + collapsed.step_count - 2];
    return raw->nodes[index_of(raw->edges[into].target)].role == model::PartRole::nn_children;
}

CollapsedGraph collapse(const ReferenceGraph& graph,
                        const std::vector<char>& keep,
                        std::span<const std::uint32_t> copies) {
    CollapsedGraph collapsed = Collapse(graph, keep, copies).run();
    mark_class_tuples(collapsed);
    return collapsed;
}

}  // namespace cyclewatch::analysis
