// SPDX-License-Identifier: Apache-2.0
// Which references of a component are one item to whoever has to change the code.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "analysis/adjacency.h"
#include "analysis/component.h"

namespace cyclewatch::analysis {

// References of one component in groups. All of them are looked at once, when this is made: to
// ask for a group costs what the group is long.
class EquivalentReferences {
  public:
    EquivalentReferences(const CollapsedGraph& graph, const Component& component);

    // What one line of code makes again and again: those with the label of `e`, between the same
    // kinds of objects; of containers, out of the same container. Rising positions, `e` included.
    [[nodiscard]] std::span<const std::uint32_t> of_kind(std::uint32_t e) const {
        return kinds_.with(e);
    }
    // Those that go through the same variable as `e`, `e` included; empty if it goes through none.
    [[nodiscard]] std::span<const std::uint32_t> through_cell(std::uint32_t e) const {
        return cells_.with(e);
    }

  private:
    // References by a number that each of them has; kNone: it is in no group.
    class Groups {
      public:
        Groups(std::vector<std::uint32_t> number_of, std::size_t numbers)
            : number_of_(std::move(number_of)), members_(listed_by(number_of_, numbers)) {}
        [[nodiscard]] std::span<const std::uint32_t> with(std::uint32_t e) const {
            return number_of_[e] == kNone ? std::span<const std::uint32_t>{}
                                          : members_.of(number_of_[e]);
        }

      private:
        std::vector<std::uint32_t> number_of_;
        Rows<> members_;
    };

    static Groups group_kinds(const CollapsedGraph& graph, const Component& component);
    static Groups group_cells(const CollapsedGraph& graph, const Component& component);

    Groups kinds_;
    Groups cells_;
};

}  // namespace cyclewatch::analysis
