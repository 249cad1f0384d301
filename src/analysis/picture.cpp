// SPDX-License-Identifier: Apache-2.0
#include "analysis/picture.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "analysis/names.h"

namespace cyclewatch::analysis {
namespace {

constexpr std::size_t kMostLabels = 3;  // of parallel references, on one arrow

class Drawing {
  public:
    Drawing(const CollapsedGraph& graph,
            const Representatives& representatives,
            std::span<const std::uint32_t> cut,
            const OwnerWalk& walk)
        : graph_(graph),
          representatives_(representatives),
          walk_(walk),
          cut_(cut.begin(), cut.end()) {
        for (const ReachedOwner& reached : walk.owners()) {
            owner_of_.emplace(walk.node_of(reached), reached.owner);
        }
    }

    model::Picture run(std::span<const std::uint32_t> cycle) {
        draw_cycle(cycle);
        draw_ways();
        draw_cut_references();
        count_omitted();
        return std::move(picture_);
    }

  private:
    std::uint32_t add_item(std::uint32_t node, bool on_cycle) {
        const auto [entry, fresh] =
            item_of_.try_emplace(node, static_cast<std::uint32_t>(picture_.items.size()));
        if (!fresh) {
            return entry->second;
        }
        model::Picture::Item item;
        item.text = short_name(graph_, node);
        item.detail = full_name(graph_, node);
        item.on_cycle = on_cycle;
        const std::string place = location_of_node(graph_, node);
        item.detail += place.empty() ? "" : " at " + place;
        if (const auto owner = owner_of_.find(node); owner != owner_of_.end()) {
            const model::DeviceOwner& described = representatives_.owners[owner->second];
            item.owner = true;
            item.bytes = representatives_.storages[index_of(described.storage)].bytes;
            item.text += described.shape.empty() ? "" : " " + described.shape;
        }
        picture_.items.push_back(std::move(item));
        return entry->second;
    }

    void add_arrow(std::uint32_t from, std::uint32_t to, std::uint32_t edge, bool on_cycle) {
        if (!drawn_.insert(edge).second) {
            return;
        }
        picture_.arrows.push_back(
            {from, to, label_of(graph_, edge), on_cycle, cut_.contains(edge)});
    }

    // A cycle too long to draw is drawn with a gap: one item stands for the middle.
    void draw_cycle(std::span<const std::uint32_t> cycle) {
        const bool gap = cycle.size() > kMostCycleItems;
        const std::size_t head = gap ? kMostCycleItems / 2 : cycle.size();
        const std::size_t tail = gap ? kMostCycleItems - head - 1 : 0;
        std::vector<std::uint32_t> ring;
        for (std::size_t i = 0; i < cycle.size(); ++i) {
            if (i == head) {
                i = cycle.size() - tail;
                ring.push_back(static_cast<std::uint32_t>(picture_.items.size()));
                const std::size_t hidden = cycle.size() - head - tail;
                picture_.items.push_back({"... " + std::to_string(hidden) + " more",
                                          "left out of the picture",
                                          true,
                                          false,
                                          0});
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

    void draw_ways() {
        std::unordered_set<std::uint64_t> groups;
        for (const ReachedOwner& reached : walk_.owners()) {
            if (picture_.items.size() >= kMostItems || groups.size() >= kMostItems) {
                break;
            }
            // One of many that look alike is enough; the rest are counted.
            if (!groups.insert(reached.group).second) {
                continue;
            }
            draw_way(walk_.way_to(walk_.node_of(reached)));
        }
    }

    void draw_way(const std::vector<std::uint32_t>& way) {
        std::size_t fresh = 0;
        for (const std::uint32_t edge : way) {
            fresh += item_of_.contains(graph_.targets[edge]) ? 0 : 1;
        }
        if (picture_.items.size() + fresh > kMostItems) {
            return;
        }
        for (const std::uint32_t edge : way) {
            // The first holder is on the cycle, but perhaps in its gap.
            const auto from = item_of_.find(graph_.edges[edge].holder);
            const bool known = from != item_of_.end();
            const std::uint32_t start = known ? from->second : kMostCycleItems / 2;
            add_arrow(start, add_item(graph_.targets[edge], false), edge, false);
        }
    }

    // References to cut that are not on the cycle drawn, where both ends are in the picture or
    // there is room for them.
    void draw_cut_references() {
        std::size_t added = 0;
        for (const std::uint32_t edge : cut_in_order()) {
            const std::uint32_t holder = graph_.edges[edge].holder;
            const std::uint32_t target = graph_.targets[edge];
            const bool known = item_of_.contains(holder) && item_of_.contains(target);
            if (drawn_.contains(edge) || (!known && picture_.items.size() + 2 > kMostItems) ||
                added++ > kMostLabels) {
                continue;
            }
            const std::uint32_t from = add_item(holder, false);
            add_arrow(from, add_item(target, false), edge, false);
        }
    }

    [[nodiscard]] std::vector<std::uint32_t> cut_in_order() const {
        std::vector<std::uint32_t> edges(cut_.begin(), cut_.end());
        std::sort(edges.begin(), edges.end(), [this](std::uint32_t a, std::uint32_t b) {
            return graph_.color[graph_.edges[a].holder] < graph_.color[graph_.edges[b].holder];
        });
        return edges;
    }

    // Everything that the cycle leads to, whether it looks like something drawn or not. Of a walk
    // that was left out only the gap is known.
    void count_omitted() {
        const std::size_t reached = std::max(walk_.nodes(), item_of_.size() + hidden_);
        picture_.omitted_items = reached - item_of_.size();
    }

    const CollapsedGraph& graph_;
    const Representatives& representatives_;
    const OwnerWalk& walk_;
    std::unordered_set<std::uint32_t> cut_;
    std::unordered_map<std::uint32_t, std::uint32_t> owner_of_;  // node -> an owner there
    std::unordered_map<std::uint32_t, std::uint32_t> item_of_;   // node -> item
    std::unordered_set<std::uint32_t> drawn_;                    // references
    std::size_t hidden_ = 0;                                     // objects in the cycle's gap
    model::Picture picture_;
};

}  // namespace

model::Picture make_picture(const CollapsedGraph& graph,
                            const Representatives& representatives,
                            std::span<const std::uint32_t> cycle,
                            std::span<const std::uint32_t> cut,
                            const OwnerWalk& walk) {
    return Drawing(graph, representatives, cut, walk).run(cycle);
}

}  // namespace cyclewatch::analysis
