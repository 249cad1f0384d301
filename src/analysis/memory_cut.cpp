// SPDX-License-Identifier: Apache-2.0
#include "analysis/memory_cut.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "analysis/minimum_cut.h"
#include "analysis/payload.h"

namespace cyclewatch::analysis {
namespace {

constexpr std::size_t kMostReferences = 200'000;
constexpr std::size_t kMostTries = 8;  // storages, the heaviest

struct Wanted {
    std::uint64_t bytes = 0;
    std::vector<std::uint32_t> owners;  // logical nodes
    std::uint32_t sink = 0;             // vertex
};

class MemoryCutSearch {
  public:
    MemoryCutSearch(const LogicalGraph& graph, const Component& component, const HeldBytes& held)
        : graph_(graph),
          held_(held),
          own_(held.component_of(component.nodes.front())),
          alone_(held.held_by(own_) > 0),
          vertex_of_(graph.nodes(), kNone) {
        std::vector<std::uint32_t> reached = reach(component.nodes);
        list_wanted(reached);
        if (!alone_) {
            reached = reach(unheld_nodes());
        }
        region_ = std::move(reached);
    }

    MemoryCut run(std::size_t most) {
        MemoryCut cut;
        if (wanted_.empty() || !build_network()) {
            return cut;
        }
        std::uint64_t total = 0;
        for (const Wanted& wanted : wanted_) {
            total += wanted.bytes;
        }
        // All of it if few references do; else one storage after the other, the heaviest first.
        std::uint64_t freed = take_out(everything_, most, cut);
        const std::size_t tries = std::min(wanted_.size(), kMostTries);
        for (std::size_t i = 0; i < tries && freed < total - total / 2; ++i) {
            freed = take_out(wanted_[i].sink, most, cut);
        }
        if (freed < total - total / 2) {
            return {};
        }
        cut.share = static_cast<double>(freed) / static_cast<double>(total);
        return cut;
    }

  private:
    // Adds what keeps `sink`, unless that would be more than `most` in all; returns what is free.
    std::uint64_t take_out(std::uint32_t sink, std::size_t most, MemoryCut& cut) {
        for (const std::uint32_t arc :
             network_.minimum_cut(source_, sink, most - cut.items.size()).arcs) {
            network_.take_out(arc);
            cut.items.push_back(items_[arc]);
        }
        return freed_bytes();
    }

    [[nodiscard]] bool is_source(std::uint32_t node) const {
        return alone_ ? held_.component_of(node) == own_ : held_.is_unheld(node);
    }

    // `from` and all that leads on from there to owners.
    [[nodiscard]] std::vector<std::uint32_t> reach(std::vector<std::uint32_t> from) const {
        std::vector<bool> seen(graph_.nodes(), false);
        for (const std::uint32_t node : from) {
            seen[node] = true;
        }
        for (std::size_t i = 0; i < from.size(); ++i) {
            for (const std::uint32_t target : graph_.view().of(from[i])) {
                if (!seen[target] && held_.leads_to_owner(target)) {
                    seen[target] = true;
                    from.push_back(target);
                }
            }
        }
        return from;
    }

    [[nodiscard]] std::vector<std::uint32_t> unheld_nodes() const {
        std::vector<std::uint32_t> nodes;
        for (std::uint32_t node = 0; node < graph_.nodes(); ++node) {
            if (held_.is_unheld(node) && held_.leads_to_owner(node)) {
                nodes.push_back(node);
            }
        }
        return nodes;
    }

    // The storages to free, heaviest first, equal ones in the order in which they are reached.
    void list_wanted(const std::vector<std::uint32_t>& reached) {
        const std::uint32_t keeper = alone_ ? own_ : kNone;
        std::unordered_map<std::size_t, std::size_t> position;  // per storage, in wanted_
        for (const std::uint32_t node : reached) {
            for (const Owned& owned : held_.owned_by(node)) {
                if (owned.bytes == 0 || held_.keeper_of(owned.storage) != keeper) {
                    continue;
                }
                const auto [entry, fresh] =
                    position.try_emplace(index_of(owned.storage), wanted_.size());
                if (fresh) {
                    wanted_.push_back({owned.bytes, {}, 0});
                }
                wanted_[entry->second].owners.push_back(node);
            }
        }
        std::ranges::stable_sort(wanted_, std::ranges::greater{}, &Wanted::bytes);
    }

    // False if the graph is too large.
    bool build_network() {
        source_ = network_.add_vertex();
        std::size_t references = 0;
        for (const std::uint32_t node : region_) {
            vertex_of_[node] = is_source(node) ? source_ : network_.add_vertex();
            references += graph_.first[node + 1] - graph_.first[node];
        }
        if (references > kMostReferences) {
            return false;
        }
        for (const std::uint32_t node : region_) {
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
        return true;
    }

    void add_reference(std::uint32_t e) {
        const std::uint32_t from = vertex_of_[graph_.edges[e].holder];
        const std::uint32_t target = graph_.targets[e];
        const std::uint32_t to = vertex_of_[target];
        if (to == kNone || to == source_) {
            return;
        }
        if (graph_.edges[e].structural || leads_to_code(graph_, e)) {
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
    std::uint32_t own_;                     // component
    bool alone_;                            // it keeps memory that no other component does
    std::vector<std::uint32_t> vertex_of_;  // per logical node
    std::vector<std::uint32_t> region_;     // logical nodes from which owners are reached
    std::vector<Wanted> wanted_;
    FlowNetwork network_;
    std::uint32_t source_ = 0;
    std::uint32_t everything_ = 0;                   // sink that all storages lead to
    std::vector<std::vector<std::uint32_t>> items_;  // per arc: the references it stands for
    std::unordered_map<std::uint32_t, Variable> variables_;  // by cell
};

}  // namespace

MemoryCut find_memory_cut(const LogicalGraph& graph,
                          const Component& component,
                          const HeldBytes& held,
                          std::size_t most) {
    return MemoryCutSearch(graph, component, held).run(most);
}

}  // namespace cyclewatch::analysis
