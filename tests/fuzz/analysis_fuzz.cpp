// SPDX-License-Identifier: Apache-2.0
// Compares the analysis of small graphs with a brute-force implementation: components from which an
// owner can be reached, their retained bytes, and whether the cut breaks every such cycle.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analysis/analyze.h"
#include "model/observation.h"
#include "require.h"

using cyclewatch::fuzz::require;
namespace model = cyclewatch::model;

namespace {

constexpr std::uint32_t kMostNodes = 12;

// Reads bytes in order; returns zeros at the end.
class Bytes {
  public:
    Bytes(const std::uint8_t* data, std::size_t size) : next_(data), end_(data + size) {}
    std::uint32_t below(std::uint32_t limit) { return next_ == end_ ? 0 : *next_++ % limit; }
    [[nodiscard]] bool empty() const { return next_ == end_; }

  private:
    const std::uint8_t* next_;
    const std::uint8_t* end_;
};

struct Edge {
    std::uint32_t from;
    std::uint32_t to;
};

// A graph of objects, some of which are owners. Every node and every reference has a unique name,
// so that findings can be mapped back.
struct Case {
    std::uint32_t nodes = 0;
    std::vector<Edge> edges;
    std::vector<std::uint32_t> owners;         // distinct nodes
    std::vector<std::uint32_t> storage_of;     // parallel to owners
    std::vector<std::uint64_t> storage_bytes;  // powers of two, so that sums are unique
};

Case make_case(Bytes& bytes) {
    Case result;
    result.nodes = 1 + bytes.below(kMostNodes);
    const std::uint32_t owners = 1 + bytes.below(std::min(result.nodes, 4U));
    const std::uint32_t storages = 1 + bytes.below(owners);
    for (std::uint32_t s = 0; s < storages; ++s) {
        result.storage_bytes.push_back(1ULL << s);
    }
    for (std::uint32_t owner = 0; owner < owners; ++owner) {
        result.owners.push_back(owner);
        result.storage_of.push_back(owner < storages ? owner : bytes.below(storages));
    }
    while (!bytes.empty() && result.edges.size() < 40) {
        result.edges.push_back({bytes.below(result.nodes), bytes.below(result.nodes)});
    }
    std::ranges::stable_sort(result.edges, {}, &Edge::from);
    return result;
}

std::string node_name(std::uint32_t node) {
    return "m.N" + std::to_string(node);
}
std::string edge_name(std::size_t edge) {
    return "e" + std::to_string(edge);
}

model::Observation observe(const Case& one) {
    model::Observation observation;
    model::ReferenceGraphBuilder builder;
    for (std::uint32_t n = 0; n < one.nodes; ++n) {
        model::Node node;
        node.name = builder.intern(node_name(n));
        node.module = builder.intern("m");
        builder.add_node(node);
    }
    for (std::size_t e = 0; e < one.edges.size(); ++e) {
        builder.add_edge(static_cast<model::NodeId>(one.edges[e].from),
                         static_cast<model::NodeId>(one.edges[e].to),
                         {model::EdgeKind::attribute, builder.intern(edge_name(e)), 0});
    }
    observation.graph = builder.finish();
    for (const std::uint64_t bytes : one.storage_bytes) {
        observation.storages.push_back({"cpu", bytes, true});
    }
    for (std::size_t o = 0; o < one.owners.size(); ++o) {
        observation.owners.push_back({static_cast<model::NodeId>(one.owners[o]),
                                      static_cast<model::StorageId>(one.storage_of[o]),
                                      "m.Owner",
                                      "",
                                      ""});
    }
    return observation;
}

using Reach =
    std::vector<std::vector<bool>>;  // [a][b]: b is reachable from a by at least one reference

Reach reach_of(const Case& one, const std::vector<bool>& dead) {
    Reach reach(one.nodes, std::vector<bool>(one.nodes, false));
    for (std::size_t e = 0; e < one.edges.size(); ++e) {
        if (!dead[e]) {
            reach[one.edges[e].from][one.edges[e].to] = true;
        }
    }
    for (std::uint32_t via = 0; via < one.nodes; ++via) {
        for (std::uint32_t a = 0; a < one.nodes; ++a) {
            for (std::uint32_t b = 0; b < one.nodes; ++b) {
                reach[a][b] = reach[a][b] || (reach[a][via] && reach[via][b]);
            }
        }
    }
    return reach;
}

// The smallest node on a cycle with `node` identifies its component; kMostNodes if there is none.
std::uint32_t component_of(const Reach& reach, std::uint32_t node) {
    if (!reach[node][node]) {
        return kMostNodes;
    }
    for (std::uint32_t other = 0;; ++other) {
        if (other == node || (reach[node][other] && reach[other][node])) {
            return other;
        }
    }
}

bool leads_to_owner(const Case& one, const Reach& reach, std::uint32_t node) {
    return std::ranges::any_of(
        one.owners, [&](std::uint32_t owner) { return owner == node || reach[node][owner]; });
}

// Owners that cannot be reached from a cycle are freed by reference counting, not by a collection.
void drop_owners_without_cycle(Case& one) {
    const Reach reach = reach_of(one, std::vector<bool>(one.edges.size(), false));
    for (std::size_t o = one.owners.size(); o-- > 0;) {
        const std::uint32_t owner = one.owners[o];
        bool retained = reach[owner][owner];
        for (std::uint32_t node = 0; node < one.nodes; ++node) {
            retained = retained || (reach[node][node] && reach[node][owner]);
        }
        if (!retained) {
            one.owners.erase(one.owners.begin() + static_cast<std::ptrdiff_t>(o));
            one.storage_of.erase(one.storage_of.begin() + static_cast<std::ptrdiff_t>(o));
        }
    }
}

// True if `owner` is reachable without `component` from a root of the condensed graph, so that the
// component does not retain it alone.
bool reached_without(const Case& one,
                     const Reach& all,
                     std::uint32_t component,
                     std::uint32_t owner) {
    const auto inside = [&](std::uint32_t node) { return component_of(all, node) == component; };
    std::vector<bool> dead;
    for (const Edge& edge : one.edges) {
        dead.push_back(inside(edge.from) || inside(edge.to));
    }
    const Reach reach = reach_of(one, dead);
    for (std::uint32_t start = 0; start < one.nodes; ++start) {
        // A root of the condensed graph: reachable only from its own component.
        bool root = !inside(start);
        for (std::uint32_t other = 0; other < one.nodes; ++other) {
            root = root && (!all[other][start] || all[start][other]);
        }
        if (root && !inside(owner) && (start == owner || reach[start][owner])) {
            return true;
        }
    }
    return false;
}

// Bytes of the storages whose owners are all retained by `component` and by no component below it.
std::map<std::uint32_t, std::uint64_t> retained_by_component(const Case& one, const Reach& all) {
    std::map<std::uint32_t, std::uint64_t> held;
    for (std::uint32_t node = 0; node < one.nodes; ++node) {
        if (component_of(all, node) == node && leads_to_owner(one, all, node)) {
            held[node] = 0;
        }
    }
    for (std::size_t s = 0; s < one.storage_bytes.size(); ++s) {
        std::vector<std::uint32_t> keepers;
        for (const auto& [component, bytes] : held) {
            bool keeps = std::ranges::find(one.storage_of, s) != one.storage_of.end();
            for (std::size_t o = 0; o < one.owners.size(); ++o) {
                keeps = keeps && (one.storage_of[o] != s ||
                                  !reached_without(one, all, component, one.owners[o]));
            }
            if (keeps) {
                keepers.push_back(component);
            }
        }
        // Count the bytes for the nearest retaining component: it reaches no other one.
        for (const std::uint32_t keeper : keepers) {
            if (std::ranges::none_of(keepers, [&](std::uint32_t other) {
                    return other != keeper && all[keeper][other];
                })) {
                held[keeper] += one.storage_bytes[s];
            }
        }
    }
    return held;
}

std::uint32_t node_of(const std::string& name) {
    return static_cast<std::uint32_t>(std::stoul(name.substr(3)));
}
std::size_t edge_of(const model::Reference& reference) {
    return std::stoul(reference.label.substr(2));
}

// True if no cycle of `component` leads to an owner without the references in `dead`.
bool ends_cycles(const Case& one,
                 const Reach& all,
                 std::uint32_t component,
                 const std::vector<bool>& dead) {
    const Reach reach = reach_of(one, dead);
    for (std::uint32_t node = 0; node < one.nodes; ++node) {
        if (component_of(all, node) == component && reach[node][node] &&
            leads_to_owner(one, reach, node)) {
            return false;
        }
    }
    return true;
}

// The references between objects of `component`.
std::vector<std::size_t> inner_references(const Case& one,
                                          const Reach& all,
                                          std::uint32_t component) {
    std::vector<std::size_t> inner;
    for (std::size_t e = 0; e < one.edges.size(); ++e) {
        if (component_of(all, one.edges[e].from) == component &&
            component_of(all, one.edges[e].to) == component) {
            inner.push_back(e);
        }
    }
    return inner;
}

// True if cutting one of `inner` breaks every cycle of `component` that leads to an owner.
bool one_is_enough(const Case& one,
                   const Reach& all,
                   std::uint32_t component,
                   const std::vector<std::size_t>& inner) {
    return std::ranges::any_of(inner, [&](std::size_t edge) {
        std::vector<bool> dead(one.edges.size(), false);
        dead[edge] = true;
        return ends_cycles(one, all, component, dead);
    });
}

// The cut breaks every cycle that leads to an owner. If that takes more than one reference, the
// finding may instead say that cycles remain, or separate the owners from the cycle.
void check_cut(const Case& one,
               const Reach& all,
               const model::Finding& finding,
               std::uint32_t component) {
    const std::vector<std::size_t> inner = inner_references(one, all, component);
    const bool must_end = one_is_enough(one, all, component, inner);
    const bool is_inner = std::ranges::all_of(finding.cut, [&](const model::Reference& reference) {
        return std::ranges::binary_search(inner, edge_of(reference));
    });
    const bool admits = finding.remedy.find("other cycles remain") != std::string::npos;
    if (!must_end && (admits || !is_inner || finding.omitted_cuts > 0)) {
        return;
    }
    std::vector<bool> dead(one.edges.size(), false);
    for (const model::Reference& reference : finding.cut) {
        dead[edge_of(reference)] = true;
    }
    require(!finding.cut.empty(), "there is a reference to cut");
    require(ends_cycles(one, all, component, dead),
            "the cut breaks every cycle that leads to an owner");
    for (const model::Reference& reference : finding.cut) {
        dead[edge_of(reference)] = false;
        require(!ends_cycles(one, all, component, dead), "every reference of the cut is needed");
        dead[edge_of(reference)] = true;
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Bytes bytes(data, size);
    Case one = make_case(bytes);
    drop_owners_without_cycle(one);
    const Reach all = reach_of(one, std::vector<bool>(one.edges.size(), false));
    const std::map<std::uint32_t, std::uint64_t> expected = retained_by_component(one, all);

    std::map<std::uint32_t, std::uint64_t> found;
    for (const model::Finding& finding : cyclewatch::analysis::analyze(observe(one))) {
        require(!finding.cycle.empty(), "a finding has a cycle");
        const std::uint32_t component = component_of(all, node_of(finding.cycle[0].holder));
        require(finding.occurrences == 1, "names are distinct, so nothing is merged");
        require(found.emplace(component, finding.retained_bytes).second,
                "one finding per component");
        for (std::size_t i = 0; i < finding.cycle.size(); ++i) {
            const model::Reference& next = finding.cycle[(i + 1) % finding.cycle.size()];
            require(finding.cycle[i].target == next.holder, "the cycle is closed");
            const Edge& edge = one.edges[edge_of(finding.cycle[i])];
            require(node_name(edge.from) == finding.cycle[i].holder &&
                        node_name(edge.to) == finding.cycle[i].target,
                    "the cycle consists of existing references");
        }
        check_cut(one, all, finding, component);
    }
    require(found.size() == expected.size(),
            "as many findings as components that lead to an owner");
    for (const auto& [component, held] : expected) {
        require(found.contains(component), "every such component has a finding");
        require(found.at(component) == held,
                "retained bytes",
                std::to_string(found.at(component)) + " expected " + std::to_string(held));
    }
    return 0;
}
