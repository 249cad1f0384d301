// SPDX-License-Identifier: Apache-2.0
#include "analysis/picture.h"

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "analysis/names.h"

namespace cyclewatch::analysis {
namespace {

constexpr std::size_t kMostCycleItems = 12;
// More references of the same cut would not say more; the card lists all.
constexpr std::size_t kMostCutsOffCycle = 5;
// A larger picture would have to be scaled down until nobody can read it.
constexpr std::size_t kMostItems = 26;
static_assert(kMostItems <= model::kMaxPictureItems);
// A picture of at most so many objects draws them all; a larger one draws one owner of each group.
constexpr std::size_t kFewItems = 8;

class Drawing {
  public:
    Drawing(const CollapsedGraph& graph,
            const model::Observation& observation,
            std::span<const EdgeIx> cut,
            const OwnerWalk& walk)
        : graph_(graph), observation_(observation), walk_(walk), cut_(cut.begin(), cut.end()) {
        for (const ReachedOwner& reached : walk.owners()) {
            owner_of_.emplace(walk.node_of(reached), reached.owner);
        }
    }

    model::Picture run(std::span<const EdgeIx> cycle) {
        draw_cycle(cycle);
        draw_paths();
        draw_cut_references();
        draw_holders();
        count_omitted();
        return std::move(picture_);
    }

  private:
    std::uint32_t add_item(NodeIx node, bool on_cycle) {
        const auto [entry, fresh] =
            item_of_.try_emplace(node, static_cast<std::uint32_t>(picture_.items.size()));
        if (!fresh) {
            return entry->second;
        }
        model::Picture::Item item;
        item.text = short_name(graph_, node);
        item.detail = full_name(graph_, node);
        item.on_cycle = on_cycle;
        if (graph_.node(node).hides_references) {
            item.hides_references = true;
        }
        if (const auto owner = owner_of_.find(node); owner != owner_of_.end()) {
            const model::DeviceOwner& described = observation_.owner(owner->second);
            item.owner = true;
            item.bytes = observation_.storage_of(described).bytes;
            item.text += described.shape.empty() ? "" : " " + described.shape;
            if (!described.allocation_stack.empty()) {
                item.allocation_stack = described.allocation_stack;
            }
        } else if (const std::string location = location_of_node(graph_, node); !location.empty()) {
            item.detail += " at " + location;  // the class of an owner would look like its origin
        }
        picture_.items.push_back(std::move(item));
        return entry->second;
    }

    void add_arrow(std::uint32_t from, std::uint32_t to, EdgeIx edge, bool on_cycle) {
        if (!drawn_.insert(edge).second) {
            return;
        }
        picture_.arrows.push_back(
            {from, to, label_of(graph_, edge), on_cycle, cut_.contains(edge)});
    }

    void draw_cycle(std::span<const EdgeIx> cycle) {
        const bool gap = cycle.size() > kMostCycleItems;
        const std::size_t head = gap ? kMostCycleItems / 2 : cycle.size();
        const std::size_t tail = gap ? kMostCycleItems - head - 1 : 0;
        std::vector<std::uint32_t> ring;
        for (std::size_t i = 0; i < cycle.size(); ++i) {
            if (i == head) {
                i = cycle.size() - tail;
                ring.push_back(static_cast<std::uint32_t>(picture_.items.size()));
                const std::size_t hidden = cycle.size() - head - tail;
                picture_.items.push_back(
                    {"... " + std::to_string(hidden) + " more", "not shown", true, false, 0});
                hidden_ = hidden;
            }
            ring.push_back(add_item(graph_.edges[cycle[i]].holder, true));
        }
        for (std::size_t i = 0; i < ring.size(); ++i) {
            const std::uint32_t to = ring[i + 1 == ring.size() ? 0 : i + 1];
            if (gap && i == head) {
                picture_.arrows.push_back({ring[i], to, "", true, false});
                continue;
            }
            const std::size_t step = i < head ? i : cycle.size() - (ring.size() - i);
            add_arrow(ring[i], to, cycle[step], true);
        }
    }

    void draw_paths() {
        const bool draw_all = walk_.nodes() <= kFewItems;
        std::unordered_set<std::uint64_t> groups;
        for (const ReachedOwner& reached : walk_.owners()) {
            if (picture_.items.size() >= kMostItems || groups.size() >= kMostItems) {
                break;
            }
            if (groups.insert(reached.group).second || draw_all) {
                draw_path(walk_.path_to(walk_.node_of(reached)));
            }
        }
    }

    void draw_path(std::span<const EdgeIx> path) {
        const auto fresh = static_cast<std::size_t>(std::ranges::count_if(
            path, [this](EdgeIx edge) { return !item_of_.contains(graph_.targets[edge]); }));
        if (picture_.items.size() + fresh > kMostItems) {
            return;
        }
        for (const EdgeIx edge : path) {
            // A holder that is not drawn is in the omitted part of the cycle.
            const auto from = item_of_.find(graph_.edges[edge].holder);
            const bool known = from != item_of_.end();
            const std::uint32_t start = known ? from->second : kMostCycleItems / 2;
            add_arrow(start, add_item(graph_.targets[edge], false), edge, false);
        }
    }

    // Draws up to kMostCutsOffCycle more references to cut. Skips a reference whose ends do not fit
    // into the picture.
    void draw_cut_references() {
        std::size_t added = 0;
        for (const EdgeIx edge : cut_in_order()) {
            const NodeIx holder = graph_.edges[edge].holder;
            const NodeIx target = graph_.targets[edge];
            const bool known = item_of_.contains(holder) && item_of_.contains(target);
            if (drawn_.contains(edge) || (!known && picture_.items.size() + 2 > kMostItems) ||
                added++ >= kMostCutsOffCycle) {
                continue;
            }
            const std::uint32_t from = add_item(holder, false);
            add_arrow(from, add_item(target, false), edge, false);
        }
    }

    // Draws references until arrows lead from the cycle to every object that can be reached so.
    // Otherwise an object drawn only because its reference is cut would look like a root.
    void draw_holders() {
        std::map<std::pair<std::uint32_t, std::uint32_t>, EdgeIx> between;  // items -> edge
        for (const auto& [node, item] : item_of_) {
            for (const EdgeIx edge : graph_.edges_of(node)) {
                const auto target = item_of_.find(graph_.targets[edge]);
                if (target != item_of_.end()) {
                    between.try_emplace({item, target->second}, edge);
                }
            }
        }
        for (bool more = true; std::exchange(more, false);) {
            const std::vector<bool> reached = reached_from_cycle();
            for (const auto& [ends, edge] : between) {
                if (reached[ends.first] && !reached[ends.second]) {
                    add_arrow(ends.first, ends.second, edge, false);
                    more = true;
                    break;
                }
            }
        }
    }

    [[nodiscard]] std::vector<bool> reached_from_cycle() const {
        std::vector<bool> reached;
        for (const model::Picture::Item& item : picture_.items) {
            reached.push_back(item.on_cycle);
        }
        for (bool more = true; std::exchange(more, false);) {
            for (const model::Picture::Arrow& arrow : picture_.arrows) {
                if (reached[arrow.from] && !reached[arrow.to]) {
                    reached[arrow.to] = more = true;
                }
            }
        }
        return reached;
    }

    [[nodiscard]] std::vector<EdgeIx> cut_in_order() const {
        std::vector<EdgeIx> edges(cut_.begin(), cut_.end());
        std::ranges::sort(edges, {}, [this](EdgeIx edge) {
            return std::pair(graph_.color[graph_.edges[edge].holder], edge);
        });
        return edges;
    }

    // Counts the reached objects that are not drawn. If walk() returned false, counts only the
    // objects of the cycle.
    void count_omitted() {
        const std::size_t reached = std::max(walk_.nodes(), item_of_.size() + hidden_);
        picture_.omitted_items = reached - item_of_.size();
    }

    const CollapsedGraph& graph_;
    const model::Observation& observation_;
    const OwnerWalk& walk_;
    std::unordered_set<EdgeIx> cut_;
    std::unordered_map<NodeIx, model::OwnerId> owner_of_;  // one of the node's owners
    std::unordered_map<NodeIx, std::uint32_t> item_of_;
    std::unordered_set<EdgeIx> drawn_;
    std::size_t hidden_ = 0;  // objects in the cycle's gap
    model::Picture picture_;
};

}  // namespace

model::Picture make_picture(const CollapsedGraph& graph,
                            const model::Observation& observation,
                            std::span<const EdgeIx> cycle,
                            std::span<const EdgeIx> cut,
                            const OwnerWalk& walk) {
    return Drawing(graph, observation, cut, walk).run(cycle);
}

}  // namespace cyclewatch::analysis
