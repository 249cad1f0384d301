// SPDX-License-Identifier: Apache-2.0
// Measures the analysis of graph shapes that could make it slow.
#include <benchmark/benchmark.h>

#include <random>
#include <string>

#include "analysis/analyze.h"

namespace {

using cyclewatch::model::EdgeKind;
using cyclewatch::model::NodeId;
using cyclewatch::model::Observation;
using cyclewatch::model::ReferenceGraphBuilder;

class Builder {
  public:
    Builder() : type_(graph_.intern("m.Node")), label_(graph_.intern("next")) {}

    std::uint32_t node() {
        cyclewatch::model::Node node;
        node.name = type_;
        return static_cast<std::uint32_t>(graph_.add_node(node));
    }
    void refer(std::uint32_t from, std::uint32_t to) {
        graph_.add_edge(NodeId{from}, NodeId{to}, {EdgeKind::attribute, label_, 0});
    }
    void own(std::uint32_t node, std::uint64_t bytes) {
        const auto storage =
            static_cast<cyclewatch::model::StorageId>(observation_.storages.size());
        observation_.storages.push_back({"cuda:0", bytes, true});
        observation_.owners.push_back({NodeId{node}, storage, "torch.Tensor", "[8]", "float32"});
    }
    Observation finish() {
        observation_.graph = graph_.finish();
        return std::move(observation_);
    }

  private:
    ReferenceGraphBuilder graph_;
    cyclewatch::model::StringId type_;
    cyclewatch::model::StringId label_;
    Observation observation_;
};

void analyze_all(benchmark::State& state, const Observation& observation) {
    for (auto _ : state) {
        benchmark::DoNotOptimize(cyclewatch::analysis::analyze(observation));
    }
    state.counters["nodes"] = static_cast<double>(observation.graph.nodes.size());
    state.counters["references"] = static_cast<double>(observation.graph.edges.size());
}

// One component of 10,000 nodes and 50,000 random references.
void BM_DenseComponent(benchmark::State& state) {
    constexpr std::uint32_t kNodes = 10'000;
    std::mt19937 random(1);
    Builder builder;
    for (std::uint32_t n = 0; n < kNodes; ++n) {
        builder.node();
    }
    for (std::uint32_t n = 0; n < kNodes; ++n) {
        builder.refer(n, (n + 1) % kNodes);
        for (int i = 0; i < 4; ++i) {
            builder.refer(n, static_cast<std::uint32_t>(random() % kNodes));
        }
    }
    builder.own(0, 4096);
    analyze_all(state, builder.finish());
}
BENCHMARK(BM_DenseComponent)->Unit(benchmark::kMillisecond);

void BM_Ring(benchmark::State& state) {
    const auto nodes = static_cast<std::uint32_t>(state.range(0));
    Builder builder;
    for (std::uint32_t n = 0; n < nodes; ++n) {
        builder.node();
    }
    for (std::uint32_t n = 0; n < nodes; ++n) {
        builder.refer(n, (n + 1) % nodes);
    }
    builder.own(0, 4096);
    analyze_all(state, builder.finish());
}
BENCHMARK(BM_Ring)->Arg(100'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

// Equal pairs, each with one owner.
void BM_EqualPairs(benchmark::State& state) {
    const auto pairs = static_cast<std::uint32_t>(state.range(0));
    Builder builder;
    for (std::uint32_t p = 0; p < pairs; ++p) {
        const std::uint32_t a = builder.node();
        const std::uint32_t b = builder.node();
        const std::uint32_t t = builder.node();
        builder.refer(a, b);
        builder.refer(a, t);
        builder.refer(b, a);
        builder.own(t, 4096);
    }
    analyze_all(state, builder.finish());
}
BENCHMARK(BM_EqualPairs)->Arg(10'000)->Arg(100'000)->Unit(benchmark::kMillisecond);

// Many cycles that lead to one large structure.
void BM_SharedStructure(benchmark::State& state) {
    const auto cycles = static_cast<std::uint32_t>(state.range(0));
    Builder builder;
    for (std::uint32_t l = 0; l <= 3 * cycles; ++l) {
        builder.node();
    }
    const std::uint32_t root = 2 * cycles;
    for (std::uint32_t l = 0; l < cycles; ++l) {
        builder.refer(2 * l, 2 * l + 1);
        builder.refer(2 * l + 1, 2 * l);
        builder.refer(2 * l + 1, root);
    }
    for (std::uint32_t l = 0; l < cycles; ++l) {
        builder.refer(root, root + 1 + l);
        builder.own(root + 1 + l, 4096);
    }
    analyze_all(state, builder.finish());
}
BENCHMARK(BM_SharedStructure)->Arg(10'000)->Unit(benchmark::kMillisecond);

// A cycle with a long chain, and an owner at every link.
void BM_OwnerChain(benchmark::State& state) {
    const auto links = static_cast<std::uint32_t>(state.range(0));
    Builder builder;
    for (std::uint32_t n = 0; n < 2 * links; ++n) {
        builder.node();
    }
    builder.refer(0, 0);
    for (std::uint32_t n = 0; n < links; ++n) {
        if (n + 1 < links) {
            builder.refer(n, n + 1);
        }
        builder.refer(n, links + n);
        builder.own(links + n, 4096 + n);
    }
    analyze_all(state, builder.finish());
}
BENCHMARK(BM_OwnerChain)->Arg(100'000)->Unit(benchmark::kMillisecond);

}  // namespace
