// SPDX-License-Identifier: Apache-2.0
#include "analysis/canonical_order.h"

#include <algorithm>
#include <bit>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/stable_hash.h"

namespace cyclewatch::analysis {
namespace {

constexpr std::uint64_t kRounds = 4;
// Maximum number of nodes and references visited in all rounds together. The first kRounds rounds
// always run.
constexpr std::uint64_t kMostRefinementWork = 300'000;
constexpr std::size_t kMostInBlock = 16;

using Colors = IndexedVector<NodeIx, std::uint64_t>;
using LabelHashes = IndexedVector<EdgeIx, std::uint64_t>;
using model::StringId;

std::uint64_t mix(std::uint64_t value) {
    value ^= value >> 33;
    value *= 0xff51afd7ed558ccdULL;
    value ^= value >> 33;
    value *= 0xc4ceb9fe1a85ec53ULL;
    return value ^ (value >> 33);
}

IndexedVector<StringId, std::uint64_t> hash_texts(const model::StringTable& strings) {
    IndexedVector<StringId, std::uint64_t> hashes(strings.size());
    for (const StringId id : hashes.indexes()) {
        hashes[id] = base::StableHash().add(strings.view(id)).value();
    }
    return hashes;
}

// A hash of the file name without its directory, because the order must not depend on the
// directory.
std::uint64_t hash_file(std::string_view path) {
    return base::StableHash().add(path.substr(path.find_last_of("/\\") + 1)).value();
}

// The alphabetical rank of every string. Comparing ranks is cheaper than comparing strings.
IndexedVector<StringId, std::uint32_t> rank_texts(const model::StringTable& strings) {
    IndexedVector<StringId, std::uint32_t> rank(strings.size());
    std::vector<StringId> by_text(rank.indexes().begin(), rank.indexes().end());
    std::ranges::sort(by_text, {}, [&](StringId id) { return strings.view(id); });
    for (std::uint32_t next = 0; const StringId id : by_text) {
        rank[id] = next++;
    }
    return rank;
}

// One round of colour refinement.
Colors refine(const CollapsedGraph& graph, const LabelHashes& label_hash, const Colors& color) {
    Colors next(color.size());
    std::ranges::transform(color, next.begin(), mix);
    // Hashes are added up, because a sum does not depend on the order of the references.
    for (const EdgeIx e : label_hash.indexes()) {
        const NodeIx from = graph.edges[e].holder;
        const NodeIx to = graph.targets[e];
        next[from] += mix(color[to] * 3 + label_hash[e]);
        next[to] += mix(color[from] * 5 + label_hash[e]);
    }
    return next;
}

// Uses a hash table, because sorting would take most of the time of a round. Colours are already
// hashes, so they serve as positions in the table.
std::size_t count_distinct(const Colors& colors) {
    std::vector<std::uint64_t> table(std::bit_ceil(colors.size() * 2 + 1), 0);
    const std::uint64_t mask = table.size() - 1;
    std::size_t distinct = std::ranges::count(colors, 0U) > 0 ? 1 : 0;  // 0 marks a free slot
    for (const std::uint64_t color : colors) {
        std::uint64_t slot = color & mask;
        while (table[slot] != 0 && table[slot] != color) {
            slot = (slot + 1) & mask;
        }
        if (table[slot] != color) {
            table[slot] = color;
            ++distinct;
        }
    }
    return distinct;
}

// Refines the colours until a round distinguishes no more nodes than the round before. Later rounds
// would not distinguish more nodes either, so counting the colours once per block of rounds is
// enough.
void refine_until_stable(CollapsedGraph& graph, const LabelHashes& label_hash) {
    const std::uint64_t work = graph.size() + label_hash.size() + 1;
    std::uint64_t rounds_left = std::max((kMostRefinementWork - 1) / work, kRounds) - kRounds;
    std::size_t distinct = count_distinct(graph.color);
    for (std::size_t in_block = 1; distinct < graph.size() && rounds_left > 0;) {
        std::vector<Colors> block{std::move(graph.color)};  // one element per round
        in_block = std::min<std::uint64_t>(in_block, rounds_left);
        for (std::size_t round = 0; round < in_block; ++round) {
            block.push_back(refine(graph, label_hash, block.back()));
        }
        distinct = count_distinct(block.back());
        if (count_distinct(block[in_block - 1]) >= distinct) {
            graph.color = std::move(*std::ranges::partition_point(
                block, [&](const Colors& each) { return count_distinct(each) < distinct; }));
            return;
        }
        graph.color = std::move(block.back());
        rounds_left -= in_block;
        in_block = std::min(in_block * 2, kMostInBlock);
    }
}

void color_nodes(CollapsedGraph& graph, const IndexedVector<NodeIx, std::uint64_t>& weight) {
    graph.text_hash = hash_texts(graph.raw->strings);
    LabelHashes label_hash(graph.edges.size());
    for (const EdgeIx e : label_hash.indexes()) {
        const model::EdgeLabel& label = graph.edges[e].label;
        label_hash[e] =
            mix(graph.text_hash[label.name] ^ mix((std::uint64_t{label.position()} << 8) +
                                                  static_cast<std::uint64_t>(label.kind)));
    }
    graph.color.resize(graph.size());
    for (const NodeIx n : graph.all_nodes()) {
        const model::Node& node = graph.node(n);
        const std::uint64_t location =
            hash_file(graph.raw->text(node.location.path)) + node.location.line;
        graph.color[n] = mix(graph.text_hash[node.name] ^ mix(weight[n] + 1) ^ mix(location) ^
                             static_cast<std::uint64_t>(node.kind));
    }
    for (std::uint64_t round = 0; round < kRounds; ++round) {
        graph.color = refine(graph, label_hash, graph.color);
    }
    refine_until_stable(graph, label_hash);  // long cycles may differ only far from their start
}

void sort_references(CollapsedGraph& graph) {
    const IndexedVector<StringId, std::uint32_t> rank = rank_texts(graph.raw->strings);
    const auto key = [&](EdgeIx e) {
        const CollapsedEdge& edge = graph.edges[e];
        const NodeIx target = graph.targets[e];
        return std::tuple(edge.label.kind,
                          rank[edge.label.name],
                          edge.label.position(),
                          rank[graph.node(target).name],
                          graph.color[target]);
    };
    IndexedVector<EdgeIx, CollapsedEdge> edges;
    IndexedVector<EdgeIx, NodeIx> targets;
    edges.reserve(graph.edges.size());
    targets.reserve(graph.edges.size());
    std::vector<EdgeIx> order;
    for (const NodeIx n : graph.all_nodes()) {
        order.assign(graph.edges_of(n).begin(), graph.edges_of(n).end());
        std::ranges::stable_sort(order, {}, key);
        for (const EdgeIx e : order) {
            edges.push_back(graph.edges[e]);
            targets.push_back(graph.targets[e]);
        }
    }
    graph.edges = std::move(edges);
    graph.targets = std::move(targets);
}

}  // namespace

void canonicalize(CollapsedGraph& graph, const IndexedVector<NodeIx, std::uint64_t>& weight) {
    color_nodes(graph, weight);
    sort_references(graph);
}

}  // namespace cyclewatch::analysis
