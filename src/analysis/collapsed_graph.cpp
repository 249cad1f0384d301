// SPDX-License-Identifier: Apache-2.0
#include "analysis/collapsed_graph.h"

#include <utility>

#include "analysis/structural_references.h"

namespace cyclewatch::analysis {
namespace {

using model::NodeKind;
using model::PartRole;
using model::ReferenceGraph;

// The references of a collapsed part are copied to each of its holders. A part that would need more
// copies than this remains a node; otherwise the graph could grow quadratically.
constexpr std::uint64_t kMostCopies = 256;

bool may_collapse(const model::Node& node) {
    return node.role != PartRole::none || node.kind == NodeKind::cell;
}

class Collapse {
  public:
    Collapse(const ReferenceGraph& graph, const std::vector<char>& keep)
        : graph_(graph), hidden_(graph.nodes.size()), holders_(graph.nodes.size()) {
        for (std::size_t n = 0; n < hidden_.size(); ++n) {
            hidden_[n] = may_collapse(graph.nodes[n]) && keep[n] == 0;
        }
        count_holders();
        hide_tracebacks(keep);
        keep_shared_and_unreferenced();
        keep_cycles_of_hidden_nodes();
    }

    CollapsedGraph run() {
        CollapsedGraph collapsed;
        collapsed.raw = &graph_;
        collapsed.collapsed_of.assign(hidden_.size(), kNone);
        for (std::uint32_t n = 0; n < hidden_.size(); ++n) {
            if (!hidden_[n]) {
                collapsed.collapsed_of[n] = collapsed.nodes();
                collapsed.raw_node.push_back(n);
            }
        }
        collapsed.first.reserve(collapsed.raw_node.size() + 1);
        collapsed.first.push_back(0);
        for (std::uint32_t n = 0; n < collapsed.nodes(); ++n) {
            expand(collapsed, n);
            drop_repeated_wrapped(collapsed);
            collapsed.first.push_back(static_cast<std::uint32_t>(collapsed.targets.size()));
        }
        return collapsed;
    }

  private:
    struct Step {
        std::uint32_t node;
        std::uint32_t next_edge;
    };

    void count_holders() {
        for (const model::Edge& edge : graph_.edges) {
            ++holders_[index_of(edge.target)];
        }
    }

    // Collapses a traceback chain into its exception (or into the traceback that another object
    // refers to), so that the depth at which an exception was raised does not matter.
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

    void keep_shared_and_unreferenced() {
        for (std::size_t n = 0; n < hidden_.size(); ++n) {
            if (!hidden_[n]) {
                continue;
            }
            const std::uint64_t out = graph_.first_edge[n + 1] - graph_.first_edge[n];
            const PartRole role = graph_.nodes[n].role;
            // A namespace is collapsed into its module or class only if nothing else refers to it.
            const bool shared_namespace =
                (role == PartRole::module_dict || role == PartRole::type_dict) && holders_[n] > 1;
            const bool too_many = out > 1 && holders_[n] > 1 && holders_[n] * out > kMostCopies;
            if (holders_[n] == 0 || shared_namespace || too_many) {
                hidden_[n] = false;
            }
        }
    }

    // Un-hides nodes on or behind a cycle of hidden nodes, such as a cell that contains itself:
    // expand() would not terminate on them. Finds them by topological sorting (A. B. Kahn, 1962).
    void keep_cycles_of_hidden_nodes() {
        std::vector<std::uint32_t> hidden_holders(hidden_.size(), 0);
        std::vector<std::uint32_t> free_nodes;
        for_each_hidden_edge([&](std::size_t target) { ++hidden_holders[target]; });
        for (std::uint32_t n = 0; n < hidden_.size(); ++n) {
            if (hidden_[n] && hidden_holders[n] == 0) {
                free_nodes.push_back(n);
            }
        }
        std::vector<bool> sorted(hidden_.size(), false);
        while (!free_nodes.empty()) {
            const std::uint32_t n = free_nodes.back();
            free_nodes.pop_back();
            sorted[n] = true;
            for (const model::Edge& edge : graph_.edges_of(model::NodeId{n})) {
                const std::size_t target = index_of(edge.target);
                if (hidden_[target] && --hidden_holders[target] == 0) {
                    free_nodes.push_back(static_cast<std::uint32_t>(target));
                }
            }
        }
        for (std::size_t n = 0; n < hidden_.size(); ++n) {
            hidden_[n] = hidden_[n] && sorted[n];
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

    // A wrapper calls the wrapped function through another reference, usually in its closure. Both
    // are changed in one place, so `__wrapped__` is then not a separate reference.
    void drop_repeated_wrapped(CollapsedGraph& collapsed) const {
        const std::uint32_t begin = collapsed.first.back();
        const auto is_dunder = [&](std::uint32_t e) {
            return collapsed.edges[e].label.kind == model::EdgeKind::attribute &&
                   collapsed.label_name(e) == "__wrapped__";
        };
        for (auto e = static_cast<std::uint32_t>(collapsed.targets.size()); e-- > begin;) {
            if (!is_dunder(e)) {
                continue;
            }
            bool repeated = false;
            for (std::uint32_t other = begin; other < collapsed.targets.size(); ++other) {
                if (other != e && collapsed.targets[other] == collapsed.targets[e] &&
                    collapsed.edges[other].label.kind != model::EdgeKind::member) {
                    collapsed.edges[other].is_wrapped = true;
                    repeated = true;
                }
            }
            if (repeated) {
                collapsed.targets.erase(collapsed.targets.begin() + e);
                collapsed.edges.erase(collapsed.edges.begin() + e);
            }
            break;  // an object has one attribute of that name
        }
    }

    // Adds the collapsed references of `holder`: depth-first search through hidden nodes.
    void expand(CollapsedGraph& collapsed, std::uint32_t holder) {
        stack_.clear();
        path_.clear();
        const std::uint32_t raw = collapsed.raw_node[holder];
        stack_.push_back({raw, graph_.first_edge[raw]});
        while (!stack_.empty()) {
            Step& step = stack_.back();
            if (step.next_edge == graph_.first_edge[step.node + 1]) {
                stack_.pop_back();
                if (!path_.empty()) {
                    path_.pop_back();
                }
                continue;
            }
            const std::uint32_t edge = step.next_edge++;
            const auto target = static_cast<std::uint32_t>(index_of(graph_.edges[edge].target));
            path_.push_back(edge);
            if (hidden_[target]) {
                stack_.push_back({target, graph_.first_edge[target]});
            } else {
                add_edge(collapsed, holder, target);
                path_.pop_back();
            }
        }
    }

    void add_edge(CollapsedGraph& collapsed, std::uint32_t holder, std::uint32_t raw_target) {
        CollapsedEdge edge;
        edge.holder = holder;
        edge.first_step = static_cast<std::uint32_t>(collapsed.steps.size());
        edge.step_count = static_cast<std::uint32_t>(path_.size());
        collapsed.steps.insert(collapsed.steps.end(), path_.begin(), path_.end());
        // Cells and collapsed tracebacks have no useful name: use the label of the reference to
        // them.
        std::size_t naming = path_.size() - 1;
        while (naming > 0 && is_unnamed(naming)) {
            edge.cell = stack_[naming].node;
            --naming;
        }
        edge.label = graph_.edges[path_[naming]].label;
        edge.structural = is_structural(
            graph_, graph_.nodes[collapsed.raw_node[holder]], edge.label, graph_.nodes[raw_target]);
        collapsed.targets.push_back(collapsed.collapsed_of[raw_target]);
        collapsed.edges.push_back(edge);
    }

    [[nodiscard]] bool is_unnamed(std::size_t step) const {
        const NodeKind kind = graph_.nodes[stack_[step].node].kind;
        const bool of_traceback = graph_.nodes[stack_[0].node].kind == NodeKind::traceback;
        return kind == NodeKind::cell || (kind == NodeKind::traceback && !of_traceback);
    }

    const ReferenceGraph& graph_;
    std::vector<bool> hidden_;
    std::vector<std::uint32_t> holders_;
    std::vector<Step> stack_;          // stack_[0] is the holder
    std::vector<std::uint32_t> path_;  // path_[i] is a reference of stack_[i]
};

// The references of the tuples in a class's __mro__ and __bases__ are structural, too.
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

CollapsedGraph collapse(const ReferenceGraph& graph, const std::vector<char>& keep) {
    CollapsedGraph collapsed = Collapse(graph, keep).run();
    mark_class_tuples(collapsed);
    return collapsed;
}

}  // namespace cyclewatch::analysis
