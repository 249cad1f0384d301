// SPDX-License-Identifier: Apache-2.0
// A directed graph in compressed sparse row format, the input of the graph algorithms.
#pragma once

#include <numeric>
#include <span>
#include <vector>

#include "base/index.h"

namespace cyclewatch::graph {

using base::Index;
using base::index_of;
using base::IndexedVector;
using base::IndexRange;
using base::IndexSet;
using base::kNone;
using base::next_index;

// The edges of each node have consecutive indexes. To build a graph, append the targets of node 0,
// call end_node(), append the targets of node 1, and so on.
template <Index Node, Index Edge>
struct Graph {
    IndexedVector<Node, Edge> first{Edge{0}};  // its last element is the number of edges
    IndexedVector<Edge, Node> targets;

    void end_node() { first.push_back(targets.end_index()); }

    // The number of nodes.
    [[nodiscard]] std::size_t size() const { return first.size() - 1; }
    [[nodiscard]] IndexRange<Node> all_nodes() const { return IndexRange<Node>(size()); }
    [[nodiscard]] IndexRange<Edge> all_edges() const { return targets.indexes(); }
    [[nodiscard]] IndexRange<Edge> edges_of(Node node) const {
        return {first[node], first[next_index(node)]};
    }
    [[nodiscard]] std::span<const Node> targets_of(Node node) const {
        return std::span(targets).subspan(index_of(first[node]), edges_of(node).size());
    }
};

// Lists of items, one for each row, built with a counting sort.
template <Index Row, typename Item>
class Rows {
  public:
    // `for_each_pair(visit)` calls visit(row, item) for every item, in the order of the lists. It
    // is called twice.
    template <typename ForEachPair>
    Rows(std::size_t rows, ForEachPair for_each_pair) : first_(rows + 1, 0) {
        for_each_pair([&](Row row, Item) { ++first_[next_index(row)]; });
        std::partial_sum(first_.begin(), first_.end(), first_.begin());
        IndexedVector<Row, std::uint32_t> next(first_);
        items_.resize(first_.back());
        for_each_pair([&](Row row, Item item) { items_[next[row]++] = item; });
    }

    [[nodiscard]] std::size_t size() const { return first_.size() - 1; }
    [[nodiscard]] std::span<const Item> of(Row row) const {
        return std::span(items_).subspan(first_[row], first_[next_index(row)] - first_[row]);
    }

  private:
    IndexedVector<Row, std::uint32_t> first_;
    std::vector<Item> items_;
};

// Inverts `row_of`. Row r of the result lists, in ascending order, the indexes i with
// row_of[i] == r. Indexes i with row_of[i] == kNone are not in any row.
template <Index Row, Index Item>
Rows<Row, Item> listed_by(const IndexedVector<Item, Row>& row_of, std::size_t rows) {
    return Rows<Row, Item>(rows, [&](auto visit) {
        for (const Item item : row_of.indexes()) {
            if (row_of[item] != kNone) {
                visit(row_of[item], item);
            }
        }
    });
}

}  // namespace cyclewatch::graph
