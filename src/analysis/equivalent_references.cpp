// SPDX-License-Identifier: Apache-2.0
#include "analysis/equivalent_references.h"

#include <unordered_map>
#include <utility>

#include "analysis/names.h"

namespace cyclewatch::analysis {
namespace {

struct Kind {
    std::uint64_t holder;  // a container by itself, anything else by its name
    model::EdgeKind label;
    model::StringId name;
    model::StringId target;

    friend bool operator==(const Kind&, const Kind&) = default;
};

struct KindHash {
    std::size_t operator()(const Kind& kind) const noexcept {
        const auto label = static_cast<std::uint64_t>(kind.label);
        std::uint64_t hash = kind.holder * 0x9e3779b97f4a7c15ULL;
        hash ^= (std::uint64_t{index_of(kind.name)} << 32) + index_of(kind.target) + (label << 56);
        hash *= 0xff51afd7ed558ccdULL;
        return hash ^ (hash >> 32);
    }
};

std::vector<std::uint64_t> holders_of(const CollapsedGraph& graph, const Component& component) {
    std::vector<std::uint64_t> holders;
    holders.reserve(component.size());
    for (const std::uint32_t node : component.nodes) {
        holders.push_back(is_container(graph, node)
                              ? std::uint64_t{node} | (std::uint64_t{1} << 63)
                              : std::uint64_t{index_of(graph.node(node).name)});
    }
    return holders;
}

// The number of `key`, which is the next one if it was not met before.
template <typename Numbers, typename Key>
std::uint32_t number_of(Numbers& numbers, const Key& key) {
    const auto next = numbers.size();
    return numbers.try_emplace(key, next).first->second;
}

}  // namespace

EquivalentReferences::EquivalentReferences(const CollapsedGraph& graph, const Component& component)
    : kinds_(group_kinds(graph, component)), cells_(group_cells(graph, component)) {}

EquivalentReferences::Groups EquivalentReferences::group_kinds(const CollapsedGraph& graph,
                                                               const Component& component) {
    const std::vector<std::uint64_t> holders = holders_of(graph, component);
    std::unordered_map<Kind, std::uint32_t, KindHash> numbers;
    std::vector<std::uint32_t> kinds;
    kinds.reserve(component.edges.size());
    for (std::size_t e = 0; e < component.edges.size(); ++e) {
        const model::EdgeLabel& label = graph.edges[component.edges[e]].label;
        const model::StringId target = graph.node(component.nodes[component.targets[e]]).name;
        kinds.push_back(
            number_of(numbers, Kind{holders[component.holder[e]], label.kind, label.name, target}));
    }
    return {std::move(kinds), numbers.size()};
}

EquivalentReferences::Groups EquivalentReferences::group_cells(const CollapsedGraph& graph,
                                                               const Component& component) {
    std::unordered_map<std::uint32_t, std::uint32_t> numbers;
    std::vector<std::uint32_t> cells;
    cells.reserve(component.edges.size());
    for (const std::uint32_t edge : component.edges) {
        const std::uint32_t cell = graph.edges[edge].cell;
        cells.push_back(cell == kNone ? kNone : number_of(numbers, cell));
    }
    return {std::move(cells), numbers.size()};
}

}  // namespace cyclewatch::analysis
