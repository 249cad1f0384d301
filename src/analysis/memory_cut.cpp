// SPDX-License-Identifier: Apache-2.0
#include "analysis/memory_cut.h"

#include <algorithm>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "analysis/minimum_cut.h"
#include "analysis/payload.h"

namespace cyclewatch::analysis {
namespace {

constexpr std::uint64_t kMostPasses = 16;
constexpr std::uint64_t kSpareWork = 1'000'000;  // small graphs need more passes
constexpr std::size_t kMostTries = 8;            // storages, the heaviest

struct Wanted {
    std::uint64_t bytes = 0;
    std::span<const std::uint32_t> owners;  // logical nodes
    std::uint32_t sink = 0;                 // vertex
};

// Of one component. Everything it does is taken off `work_left`; at 0 it gives up.
class MemoryCutSearch {
  public:
    MemoryCutSearch(const LogicalGraph& graph,
                    const HeldBytes& held,
                    std::uint32_t component,
                    std::uint64_t& work_left)
        : graph_(graph),
          held_(held),
          work_left_(work_left),
          own_(component),
          alone_(held.held_by(own_) > 0),
          from_own_(alone_) {}

    // `holders`: per node, what refers to it. `owners`: per storage.
    MemoryCut run(const Component& component,
                  const AdjacencyView& holders,
                  const AdjacencyView& owners,
                  std::size_t most) {
        const std::vector<std::uint32_t> reached = reached_from(component.nodes);
        list_wanted(reached, owners, [this](std::uint32_t keeper) {
            return keeper == (alone_ ? own_ : kNone);
        });
        if (wanted_.empty()) {  // it only leads to what other loops keep
            from_own_ = true;
            list_wanted(reached, owners, [](std::uint32_t) { return true; });
        }
        MemoryCut cut;
        if (wanted_.empty() || work_left_ == 0) {
            return cut;
        }
        build_network(region(holders));
        std::uint64_t total = 0;
        for (const Wanted& wanted : wanted_) {
            total += wanted.bytes;
        }
        // All of it if few references do; else one storage after the other, the heaviest first.
        std::uint64_t freed = take_out(everything_, most, cut) ? freed_bytes() : 0;
        const std::size_t tries = std::min(wanted_.size(), kMostTries);
        for (std::size_t i = 0; i < tries && work_left_ > 0 && freed < total - total / 2; ++i) {
            freed = take_out(wanted_[i].sink, most, cut) ? freed_bytes() : freed;
        }
        if (freed < total - total / 2) {
            return {};
        }
        if (alone_ || !from_own_) {
            cut.share = static_cast<double>(freed) / static_cast<double>(total);
        }
        return cut;
    }

  private:
    // Adds what keeps `sink`, unless that would be more than `most` in all; true if there was any.
    bool take_out(std::uint32_t sink, std::size_t most, MemoryCut& cut) {
        work(items_.size() * (most + 2));  // a search for each unit, and two more
        const std::vector<std::uint32_t> arcs =
            network_.minimum_cut(source_, sink, most - cut.items.size()).arcs;
        for (const std::uint32_t arc : arcs) {
            network_.take_out(arc);
            cut.items.push_back(items_[arc]);
        }
        return !arcs.empty();
    }

    void work(std::uint64_t done) { work_left_ -= std::min(work_left_, done); }

    [[nodiscard]] bool is_source(std::uint32_t node) const {
        return from_own_ ? held_.component_of(node) == own_ : held_.is_unheld(node);
    }

    // `from` and all that is reached from there over `view`, as far as owners are reached from it
    // in turn, and not beyond a node for which `stops`.
    template <typename Stops>
    std::vector<std::uint32_t> reach(const AdjacencyView& view,
                                     std::vector<std::uint32_t> from,
                                     Stops stops) {
        std::unordered_set<std::uint32_t> seen(from.begin(), from.end());
        for (std::size_t i = 0; i < from.size() && work_left_ > 0; ++i) {
            if (stops(from[i])) {
                continue;
            }
            const std::span<const std::uint32_t> next = view.of(from[i]);
            work(1 + next.size());
            for (const std::uint32_t node : next) {
                if (held_.leads_to_owner(node) && seen.insert(node).second) {
                    from.push_back(node);
                }
            }
        }
        return from;
    }

    std::vector<std::uint32_t> reached_from(const std::vector<std::uint32_t>& nodes) {
        return reach(graph_.view(), nodes, [](std::uint32_t) { return false; });
    }

    // All that lies between the sources and the owners.
    std::vector<std::uint32_t> region(const AdjacencyView& holders) {
        std::vector<std::uint32_t> owners;
        for (const Wanted& wanted : wanted_) {
            owners.insert(owners.end(), wanted.owners.begin(), wanted.owners.end());
        }
        std::ranges::sort(owners);
        owners.erase(std::unique(owners.begin(), owners.end()), owners.end());
        std::vector<std::uint32_t> nodes = reach(
            holders, std::move(owners), [this](std::uint32_t node) { return is_source(node); });
        std::ranges::sort(nodes);  // arcs come in the order of the graph
        return nodes;
    }

    // The storages to free, heaviest first, equal ones in the order in which they are reached.
    // All their owners count, also what the component does not lead to: a second view.
    template <typename IsWanted>
    void list_wanted(const std::vector<std::uint32_t>& reached,
                     const AdjacencyView& owners,
                     IsWanted is_wanted) {
        std::unordered_set<std::size_t> listed;
        for (const std::uint32_t node : reached) {
            for (const Owned& owned : held_.owned_by(node)) {
                const std::size_t storage = index_of(owned.storage);
                if (owned.bytes > 0 && is_wanted(held_.keeper_of(owned.storage)) &&
                    listed.insert(storage).second) {
                    wanted_.push_back(
                        {owned.bytes, owners.of(static_cast<std::uint32_t>(storage)), 0});
                }
            }
        }
        std::ranges::stable_sort(wanted_, std::ranges::greater{}, &Wanted::bytes);
    }

    void build_network(const std::vector<std::uint32_t>& region) {
        source_ = network_.add_vertex();
        for (const std::uint32_t node : region) {
            vertex_of_[node] = is_source(node) ? source_ : network_.add_vertex();
        }
        for (const std::uint32_t node : region) {
            for (std::uint32_t e = graph_.first[node]; e < graph_.first[node + 1]; ++e) {
                add_reference(e);
            }
        }
        everything_ = network_.add_vertex();
        for (Wanted& wanted : wanted_) {
            wanted.sink = network_.add_vertex();
            add(wanted.sink, everything_, FlowNetwork::kEndless, {});
            for (const std::uint32_t owner : wanted.owners) {
                add(vertex_of_[owner], wanted.sink, FlowNetwork::kEndless, {});
            }
        }
    }

    void add_reference(std::uint32_t e) {
        const std::uint32_t from = vertex_of_[graph_.edges[e].holder];
        const auto target = vertex_of_.find(graph_.targets[e]);
        if (target == vertex_of_.end() || target->second == source_) {
            return;
        }
        const std::uint32_t to = target->second;
        if (graph_.edges[e].structural || graph_.is_child_of_module(e) ||
            leads_to_code(graph_, e)) {
            add(from, to, FlowNetwork::kEndless, {});
        } else if (graph_.edges[e].cell == kNone) {
            add(from, to, 1, {e});
        } else {
            add_through_variable(from, e, to);
        }
    }

    void add_through_variable(std::uint32_t from, std::uint32_t e, std::uint32_t to) {
        const auto [entry, fresh] = variables_.try_emplace(graph_.edges[e].cell);
        Variable& variable = entry->second;
        if (fresh) {
            variable.front = network_.add_vertex();
            variable.back = network_.add_vertex();
            variable.arc = add(variable.front, variable.back, 1, {});
        }
        items_[variable.arc].push_back(e);
        add(from, variable.front, FlowNetwork::kEndless, {});
        add(variable.back, to, FlowNetwork::kEndless, {});
    }

    std::uint32_t add(std::uint32_t from,
                      std::uint32_t to,
                      std::uint32_t capacity,
                      std::vector<std::uint32_t> item) {
        items_.push_back(std::move(item));
        return network_.add(from, to, capacity);
    }

    [[nodiscard]] std::uint64_t freed_bytes() const {
        const std::vector<bool> reached = network_.reached_from(source_);
        std::uint64_t bytes = 0;
        for (const Wanted& wanted : wanted_) {
            bytes += reached[wanted.sink] ? 0 : wanted.bytes;
        }
        return bytes;
    }

    struct Variable {
        std::uint32_t front = 0;  // vertex that leads to the variable, and one that it leads to
        std::uint32_t back = 0;
        std::uint32_t arc = 0;  // between them
    };

    const LogicalGraph& graph_;
    const HeldBytes& held_;
    std::uint64_t& work_left_;
    std::uint32_t own_;  // component
    bool alone_;         // it keeps memory that no other component does
    bool from_own_;      // ways from the component count, and not all from what nobody holds
    std::unordered_map<std::uint32_t, std::uint32_t> vertex_of_;  // by logical node
    std::vector<Wanted> wanted_;
    FlowNetwork network_;
    std::uint32_t source_ = 0;
    std::uint32_t everything_ = 0;                   // sink that all storages lead to
    std::vector<std::vector<std::uint32_t>> items_;  // per arc: the references it stands for
    std::unordered_map<std::uint32_t, Variable> variables_;  // by cell
};

}  // namespace

MemoryCutter::MemoryCutter(const LogicalGraph& graph, const HeldBytes& held)
    : graph_(graph),
      held_(held),
      holders_(graph.nodes()),
      owners_(held.storages()),
      work_left_(kMostPasses * (graph.nodes() + graph.edges.size()) + kSpareWork) {}

void MemoryCutter::index() {
    const auto each_owned = [this](auto&& visit) {
        for (std::uint32_t node = 0; node < graph_.nodes(); ++node) {
            for (const Owned& owned : held_.owned_by(node)) {
                visit(static_cast<std::uint32_t>(index_of(owned.storage)), node);
            }
        }
    };
    for (const std::uint32_t target : graph_.targets) {
        holders_.count(target);
    }
    each_owned([this](std::uint32_t storage, std::uint32_t) { owners_.count(storage); });
    holders_.begin_filling();
    owners_.begin_filling();
    for (std::uint32_t e = 0; e < graph_.targets.size(); ++e) {
        holders_.fill(graph_.targets[e], graph_.edges[e].holder);
    }
    each_owned([this](std::uint32_t storage, std::uint32_t node) { owners_.fill(storage, node); });
    indexed_ = true;
}

MemoryCut MemoryCutter::find(const Component& component, std::size_t most) {
    if (!indexed_) {
        index();
    }
    MemoryCutSearch search(graph_, held_, held_.component_of(component.nodes.front()), work_left_);
    return search.run(component, holders_.view(), owners_.view(), most);
}

}  // namespace cyclewatch::analysis
