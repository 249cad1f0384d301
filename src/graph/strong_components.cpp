// SPDX-License-Identifier: Apache-2.0
#include "graph/strong_components.h"

#include <algorithm>

namespace cyclewatch::graph {
namespace {

constexpr std::uint32_t kUnseen = UINT32_MAX;

class Tarjan {
  public:
    Tarjan(const AdjacencyView& graph, std::span<const char> dead)
        : graph_(graph), dead_(dead), order_(graph.nodes(), kUnseen), low_(graph.nodes()) {
        result_.of.assign(graph.nodes(), kUnseen);
    }

    StrongComponents run() {
        for (std::uint32_t node = 0; node < graph_.nodes(); ++node) {
            if (order_[node] == kUnseen) {
                search_from(node);
            }
        }
        mark_self_references();
        return std::move(result_);
    }

  private:
    struct Frame {
        std::uint32_t node;
        std::uint32_t next_edge;
    };

    void enter(std::uint32_t node) {
        order_[node] = low_[node] = counter_++;
        open_.push_back(node);
        frames_.push_back({node, graph_.first[node]});
    }

    void search_from(std::uint32_t start) {
        enter(start);
        while (!frames_.empty()) {
            Frame& frame = frames_.back();
            const std::uint32_t node = frame.node;
            if (frame.next_edge == graph_.first[node + 1]) {
                leave(node);
                continue;
            }
            const std::uint32_t edge = frame.next_edge++;
            if (!dead_.empty() && dead_[edge] != 0) {
                continue;
            }
            const std::uint32_t target = graph_.targets[edge];
            if (order_[target] == kUnseen) {
                enter(target);  // invalidates `frame`
            } else if (result_.of[target] == kUnseen) {
                low_[node] = std::min(low_[node], order_[target]);
            }
        }
    }

    void leave(std::uint32_t node) {
        frames_.pop_back();
        if (!frames_.empty()) {
            std::uint32_t& parent_low = low_[frames_.back().node];
            parent_low = std::min(parent_low, low_[node]);
        }
        if (low_[node] != order_[node]) {
            return;
        }
        const std::uint32_t component = result_.count();
        std::uint32_t size = 0;
        std::uint32_t member = kUnseen;
        do {
            member = open_.back();
            open_.pop_back();
            result_.of[member] = component;
            ++size;
        } while (member != node);
        result_.size.push_back(size);
        result_.cyclic.push_back(size > 1);
    }

    void mark_self_references() {
        for (std::uint32_t node = 0; node < graph_.nodes(); ++node) {
            for (std::uint32_t e = graph_.first[node]; e < graph_.first[node + 1]; ++e) {
                if (graph_.targets[e] == node && (dead_.empty() || dead_[e] == 0)) {
                    result_.cyclic[result_.of[node]] = true;
                }
            }
        }
    }

    const AdjacencyView& graph_;
    std::span<const char> dead_;
    std::vector<std::uint32_t> order_;
    std::vector<std::uint32_t> low_;
    std::vector<std::uint32_t> open_;
    std::vector<Frame> frames_;
    std::uint32_t counter_ = 0;
    StrongComponents result_;
};

}  // namespace

StrongComponents strong_components(const AdjacencyView& graph, std::span<const char> dead) {
    return Tarjan(graph, dead).run();
}

}  // namespace cyclewatch::graph
