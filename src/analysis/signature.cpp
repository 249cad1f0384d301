// SPDX-License-Identifier: Apache-2.0
#include "analysis/signature.h"

#include <array>
#include <cstdio>
#include <vector>

#include "analysis/names.h"
#include "base/stable_hash.h"

namespace cyclewatch::analysis {
namespace {

// The start of the lexicographically least rotation of `ring`. Uses the two-candidate method, which
// takes linear time. Booth, "Lexicographically least circular substrings", 1980, solves the same
// problem.
std::size_t least_rotation(const std::vector<std::string>& ring) {
    const std::size_t size = ring.size();
    std::size_t best = 0;
    std::size_t other = 1;
    std::size_t equal = 0;
    while (best < size && other < size && equal < size) {
        const int order = ring[(best + equal) % size].compare(ring[(other + equal) % size]);
        if (order == 0) {
            ++equal;
            continue;
        }
        // Skip the compared part of the greater candidate: the least rotation cannot start there.
        std::size_t& greater = order > 0 ? best : other;
        greater += equal + 1;
        if (best == other) {
            ++other;
        }
        equal = 0;
    }
    return best < other ? best : other;
}

// Includes the function of the program that a library's function calls, because it is the one that
// can be changed. Uses name_shape() for unreachable classes and their instances, because a program
// that creates classes repeatedly may number them, as in type(f"Model_{n}", ...).
std::string holder_name(const CollapsedGraph& graph, NodeIx node) {
    bool class_is_garbage = graph.is(node, model::NodeKind::type);
    for (const EdgeIx e : graph.edges_of(node)) {
        class_is_garbage =
            class_is_garbage || (graph.label_name(e) == "__class__" &&
                                 graph.edges[e].label.kind == model::EdgeKind::member);
    }
    const std::string name = full_name(graph, node);
    const std::string called(graph.raw->text(graph.node(node).captured_name));
    return (class_is_garbage ? model::name_shape(name) : name) +
           (called.empty() ? "" : "\n" + called);
}

}  // namespace

std::string signature_of(const CollapsedGraph& graph, std::span<const EdgeIx> cycle) {
    std::vector<std::string> ring;
    ring.reserve(cycle.size());
    std::string label;
    for (EdgeIx previous = kNone; const EdgeIx edge : cycle) {
        // Adjacent references often have the same label; reuse its text.
        if (previous == kNone || graph.edges[edge].label != graph.edges[previous].label) {
            label = generic_label_of(graph, edge);
        }
        previous = edge;
        ring.push_back(holder_name(graph, graph.edges[edge].holder) + "\n" + label);
    }
    const std::size_t start = least_rotation(ring);
    base::StableHash hash;
    for (std::size_t i = 0; i < ring.size(); ++i) {
        hash.add(ring[(start + i) % ring.size()]);
    }
    std::array<char, 24> text{};
    std::snprintf(
        text.data(), text.size(), "cw1-%016llx", static_cast<unsigned long long>(hash.value()));
    return text.data();
}

}  // namespace cyclewatch::analysis
