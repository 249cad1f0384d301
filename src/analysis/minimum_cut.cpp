// SPDX-License-Identifier: Apache-2.0
#include "analysis/minimum_cut.h"

namespace cyclewatch::analysis {

std::uint32_t FlowNetwork::add(std::uint32_t from, std::uint32_t to, std::uint32_t capacity) {
    const auto arc = static_cast<std::uint32_t>(arcs_.size());
    arcs_.push_back({to, first_[from], capacity, 0});
    first_[from] = arc;
    arcs_.push_back({from, first_[to], 0, 0});
    first_[to] = arc + 1;
    return arc / 2;
}

std::vector<std::uint32_t> FlowNetwork::search(std::uint32_t source) const {
    std::vector<std::uint32_t> came_by(first_.size(), kEnd);
    std::vector<bool> seen(first_.size(), false);
    std::vector<std::uint32_t> queue{source};
    seen[source] = true;
    for (std::size_t i = 0; i < queue.size(); ++i) {
        for (std::uint32_t arc = first_[queue[i]]; arc != kEnd; arc = arcs_[arc].next) {
            const std::uint32_t to = arcs_[arc].to;
            if (!seen[to] && has_room(arc)) {
                seen[to] = true;
                came_by[to] = arc;
                queue.push_back(to);
            }
        }
    }
    return came_by;
}

std::vector<bool> FlowNetwork::reached_from(std::uint32_t source) const {
    const std::vector<std::uint32_t> came_by = search(source);
    std::vector<bool> reached(came_by.size());
    for (std::uint32_t vertex = 0; vertex < came_by.size(); ++vertex) {
        reached[vertex] = vertex == source || came_by[vertex] != kEnd;
    }
    return reached;
}

void FlowNetwork::forget_flow() {
    for (Arc& arc : arcs_) {
        arc.flow = 0;
    }
}

FlowNetwork::MinimumCut FlowNetwork::minimum_cut(std::uint32_t source,
                                                 std::uint32_t sink,
                                                 std::size_t most) {
    std::vector<std::uint32_t> came_by = search(source);
    // One unit at a time: no arc that can be cut has room for more.
    for (std::size_t flow = 1; came_by[sink] != kEnd; ++flow, came_by = search(source)) {
        if (flow > most) {
            forget_flow();
            return {};
        }
        for (std::uint32_t vertex = sink; vertex != source;) {
            const std::uint32_t arc = came_by[vertex];
            if ((arc & 1) == 0) {
                ++arcs_[arc].flow;
            } else {
                --arcs_[arc ^ 1].flow;
            }
            vertex = arcs_[arc ^ 1].to;
        }
    }
    MinimumCut cut{true, {}};
    const auto is_near = [&](std::uint32_t vertex) {
        return vertex == source || came_by[vertex] != kEnd;
    };
    for (std::uint32_t arc = 0; arc < arcs_.size(); arc += 2) {
        if (arcs_[arc].flow > 0 && is_near(arcs_[arc ^ 1].to) && !is_near(arcs_[arc].to)) {
            cut.arcs.push_back(arc / 2);
        }
    }
    forget_flow();
    return cut;
}

}  // namespace cyclewatch::analysis
