// SPDX-License-Identifier: Apache-2.0
#include "analysis/ways_back.h"

#include <utility>

namespace cyclewatch::analysis {
namespace {

constexpr int kMostPasses = 8;
constexpr std::uint64_t kMostStepsPerReference = 64;

class Dominance {
  public:
    Dominance(const Component& component, std::uint32_t root)
        : component_(component),
          order_of_(component.size(), kNone),
          steps_left_(kMostStepsPerReference * (component.targets.size() + 1)) {
        list_in_order(root);
        holders_ = listed_by(component.targets, component.size());
        dominator_.assign(component.size(), kNone);
        dominator_[0] = 0;
    }

    // False if it was given up.
    bool run() {
        for (int pass = 0; pass < kMostPasses; ++pass) {
            bool changed = false;
            for (std::uint32_t i = 1; i < component_.size(); ++i) {
                const std::uint32_t found = nearest(i);
                changed = changed || found != dominator_[i];
                dominator_[i] = found;
            }
            if (steps_left_ == 0) {
                return false;
            }
            if (!changed) {
                number_tree();
                return true;
            }
        }
        return false;
    }

    // REQUIRES: run() returned true.
    [[nodiscard]] bool dominates(std::uint32_t a, std::uint32_t b) const {
        const std::uint32_t first = order_of_[a];
        const std::uint32_t second = order_of_[b];
        return entered_[first] <= entered_[second] && entered_[second] < left_[first];
    }

  private:
    // Numbers the nodes in reverse postorder; all are reached from the root.
    void list_in_order(std::uint32_t root) {
        std::vector<std::uint32_t> next(component_.first.begin(), component_.first.end() - 1);
        std::vector<std::uint32_t> stack{root};
        std::vector<char> seen(component_.size(), 0);
        seen[root] = 1;
        std::vector<std::uint32_t> finished;
        while (!stack.empty()) {
            const std::uint32_t node = stack.back();
            if (next[node] == component_.first[node + 1]) {
                finished.push_back(node);
                stack.pop_back();
                continue;
            }
            const std::uint32_t target = component_.targets[next[node]++];
            if (seen[target] == 0) {
                seen[target] = 1;
                stack.push_back(target);
            }
        }
        order_.assign(finished.rbegin(), finished.rend());
        for (std::uint32_t i = 0; i < order_.size(); ++i) {
            order_of_[order_[i]] = i;
        }
    }

    std::uint32_t nearest(std::uint32_t i) {
        std::uint32_t found = kNone;
        for (const std::uint32_t e : holders_.of(order_[i])) {
            const std::uint32_t holder = order_of_[component_.holder[e]];
            if (dominator_[holder] != kNone) {
                found = found == kNone ? holder : common(found, holder);
            }
        }
        return found;
    }

    std::uint32_t common(std::uint32_t a, std::uint32_t b) {
        while (a != b && steps_left_ > 0) {
            std::uint32_t& later = a > b ? a : b;
            later = dominator_[later];
            --steps_left_;
        }
        return a;
    }

    // Gives each node the interval of its subtree. Dominators come first in the order.
    void number_tree() {
        const auto nodes = static_cast<std::uint32_t>(order_.size());
        std::vector<std::uint32_t> size(nodes, 1);
        for (std::uint32_t i = nodes - 1; i > 0; --i) {
            size[dominator_[i]] += size[i];
        }
        entered_.assign(nodes, 0);
        left_.assign(nodes, nodes);
        std::vector<std::uint32_t> free(nodes, 1);
        for (std::uint32_t i = 1; i < nodes; ++i) {
            entered_[i] = free[dominator_[i]];
            free[dominator_[i]] += size[i];
            free[i] = entered_[i] + 1;
            left_[i] = entered_[i] + size[i];
        }
    }

    const Component& component_;
    std::vector<std::uint32_t> order_;     // nodes in reverse postorder
    std::vector<std::uint32_t> order_of_;  // per node: its number there
    Rows<> holders_{0};                    // per node: of the references to it
    std::vector<std::uint32_t> dominator_;
    std::vector<std::uint32_t> entered_;
    std::vector<std::uint32_t> left_;
    std::uint64_t steps_left_;
};

}  // namespace

std::vector<std::uint32_t> ways_back(const Component& component, std::uint32_t root) {
    Dominance dominance(component, root);
    std::vector<std::uint32_t> back;
    if (!dominance.run()) {
        return back;
    }
    for (std::uint32_t e = 0; e < component.targets.size(); ++e) {
        if (dominance.dominates(component.targets[e], component.holder[e])) {
            back.push_back(e);
        }
    }
    return back;
}

}  // namespace cyclewatch::analysis
