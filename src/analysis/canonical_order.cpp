// SPDX-License-Identifier: Apache-2.0
#include "analysis/canonical_order.h"

#include <algorithm>
#include <bit>
#include <numeric>
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

using Colors = std::vector<std::uint64_t>;  // per node

std::uint64_t mix(std::uint64_t value) {
    value ^= value >> 33;
    value *= 0xff51afd7ed558ccdULL;
    value ^= value >> 33;
    value *= 0xc4ceb9fe1a85ec53ULL;
    return value ^ (value >> 33);
}

std::vector<std::uint64_t> hash_texts(const model::StringTable& strings) {
    std::vector<std::uint64_t> hashes(strings.size());
    for (std::size_t i = 0; i < hashes.size(); ++i) {
        const auto id = static_cast<model::StringId>(i);
        hashes[i] = base::StableHash().add(strings.view(id)).value();
    }
    return hashes;
}

// A hash of the file name without its directory, because the order must not depend on the
// directory.
std::uint64_t hash_file(std::string_view path) {
    return base::StableHash().add(path.substr(path.find_last_of("/\\") + 1)).value();
}

// The alphabetical rank of every string. Comparing ranks is cheaper than comparing strings.
std::vector<std::uint32_t> rank_texts(const model::StringTable& strings) {
    std::vector<std::uint32_t> by_text(strings.size());
    std::iota(by_text.begin(), by_text.end(), 0U);
    std::sort(by_text.begin(), by_text.end(), [&](std::uint32_t a, std::uint32_t b) {
        return strings.view(model::StringId{a}) < strings.view(model::StringId{b});
    });
    std::vector<std::uint32_t> rank(by_text.size());
    for (std::uint32_t i = 0; i < by_text.size(); ++i) {
        rank[by_text[i]] = i;
    }
    return rank;
}

// One round of colour refinement.
Colors refine(const CollapsedGraph& graph,
              const std::vector<std::uint64_t>& label_hash,
              const Colors& color) {
    Colors next(color.size());
    std::ranges::transform(color, next.begin(), mix);
    // Hashes are added up, because a sum does not depend on the order of the references.
    for (std::size_t e = 0; e < label_hash.size(); ++e) {
        const std::uint32_t from = graph.edges[e].holder;
        const std::uint32_t to = graph.targets[e];
        next[from] += mix(color[to] * 3 + label_hash[e]);
        next[to] += mix(color[from] * 5 + label_hash[e]);
    }
    return next;
}

// Uses a hash table, because sorting would take most of the time of a round. Colours are already
// hashes, so they serve as positions in the table.
std::size_t count_distinct(const Colors& colors) {
    Colors table(std::bit_ceil(colors.size() * 2 + 1), 0);
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
void refine_until_stable(CollapsedGraph& graph, const std::vector<std::uint64_t>& label_hash) {
    const std::uint64_t work = graph.nodes() + label_hash.size() + 1;
    std::uint64_t rounds_left = std::max((kMostRefinementWork - 1) / work, kRounds) - kRounds;
    std::size_t distinct = count_distinct(graph.color);
    for (std::size_t in_block = 1; distinct < graph.nodes() && rounds_left > 0;) {
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

void color_nodes(CollapsedGraph& graph, const std::vector<std::uint64_t>& weight) {
    const std::vector<std::uint64_t> text_hash = hash_texts(graph.raw->strings);
    std::vector<std::uint64_t> label_hash(graph.edges.size());
    for (std::size_t e = 0; e < label_hash.size(); ++e) {
        const model::EdgeLabel& label = graph.edges[e].label;
        label_hash[e] =
            mix(text_hash[index_of(label.name)] ^ mix((std::uint64_t{label.position()} << 8) +
                                                      static_cast<std::uint64_t>(label.kind)));
    }
    graph.color.resize(graph.nodes());
    for (std::uint32_t n = 0; n < graph.nodes(); ++n) {
        const model::Node& node = graph.node(n);
        const std::uint64_t location =
            hash_file(graph.raw->text(node.location.path)) + node.location.line;
        graph.color[n] = mix(text_hash[index_of(node.name)] ^ mix(weight[n] + 1) ^ mix(location) ^
                             static_cast<std::uint64_t>(node.kind));
    }
    for (std::uint64_t round = 0; round < kRounds; ++round) {
        graph.color = refine(graph, label_hash, graph.color);
    }
    refine_until_stable(graph, label_hash);  // long cycles may differ only far from their start
}

void sort_references(CollapsedGraph& graph) {
    const std::vector<std::uint32_t> rank = rank_texts(graph.raw->strings);
    const auto key = [&](std::uint32_t e) {
        const CollapsedEdge& edge = graph.edges[e];
        const std::uint32_t target = graph.targets[e];
        return std::tuple(edge.label.kind,
                          rank[index_of(edge.label.name)],
                          edge.label.position(),
                          rank[index_of(graph.node(target).name)],
                          graph.color[target]);
    };
    std::vector<std::uint32_t> order(graph.edges.size());
    std::iota(order.begin(), order.end(), 0U);
    for (std::uint32_t n = 0; n < graph.nodes(); ++n) {
        std::stable_sort(order.begin() + graph.first[n],
                         order.begin() + graph.first[n + 1],
                         [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
    }
    std::vector<CollapsedEdge> edges(order.size());
    std::vector<std::uint32_t> targets(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
        edges[i] = graph.edges[order[i]];
        targets[i] = graph.targets[order[i]];
    }
    graph.edges.swap(edges);
    graph.targets.swap(targets);
}

}  // namespace

void canonicalize(CollapsedGraph& graph, const std::vector<std::uint64_t>& weight) {
    color_nodes(graph, weight);
    sort_references(graph);
}

}  // namespace cyclewatch::analysis
