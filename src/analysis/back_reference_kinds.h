// SPDX-License-Identifier: Apache-2.0
// Groups the back references to a parent by the code that stores them, and scores each group.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "analysis/candidate.h"
#include "analysis/roles.h"

namespace cyclewatch::analysis {

// Limits the number of nodes and references of a component that a search visits.
class WorkLimit {
  public:
    WorkLimit(const Component& component, std::uint64_t most)
        : pass_(component.size() + component.targets.size()), left_(most) {}

    // Subtracts the work of `passes` passes over the component. If the work would exceed the limit,
    // subtracts nothing and returns false.
    bool take_passes(std::uint64_t passes) {
        const bool enough = passes * pass_ <= left_;
        left_ -= enough ? passes * pass_ : 0;
        return enough;
    }

  private:
    std::uint64_t pass_;
    std::uint64_t left_;
};

// References are given as positions in Component::edges. All arguments of the constructor must
// outlive this object.
class BackReferenceKinds {
  public:
    // `holders` lists the references that lead to each node. `is_on_cycle` is nonzero for the
    // references on the cycle.
    BackReferenceKinds(const CollapsedGraph& graph,
                       const Component& component,
                       const graph::Rows& holders,
                       const Roles& roles,
                       const std::vector<char>& is_on_cycle,
                       WorkLimit& work)
        : graph_(graph),
          component_(component),
          holders_(holders),
          roles_(roles),
          is_on_cycle_(is_on_cycle),
          work_(work) {}

    // Returns one candidate for each kind of reference in `back`. References created by the same
    // line of code are of the same kind. The result is empty if any of the kinds must not be
    // suggested. `is_back` is nonzero for the references in `back`.
    [[nodiscard]] std::vector<Candidate> kinds_of(const std::vector<std::uint32_t>& back,
                                                  std::span<const char> is_back);

    // Sorts `kinds` for display. Kinds with the same pattern as kinds.front() come first, then
    // kinds with a reference to `parent` (a collapsed node). Ties are broken first by the number of
    // references to the target's class, then by the number of references of the kind, and finally
    // by whether the kind's first reference is on the cycle. Two kinds compare equal only if all
    // their names are equal.
    void sort_for_reader(std::vector<Candidate>& kinds, std::uint32_t parent) const;

    // Maps each role to the highest score among the kinds with that role.
    [[nodiscard]] std::map<std::string, int> roles_of(const std::vector<Candidate>& kinds) const;

    // The score of `e` on the shortest cycle that contains it.
    [[nodiscard]] int score_alone(std::uint32_t e) { return judged_alone(e).score; }

  private:
    [[nodiscard]] std::uint32_t node_of(std::uint32_t position) const {
        return component_.nodes[position];
    }
    [[nodiscard]] std::string holder_name(std::uint32_t e) const;
    [[nodiscard]] std::string target_name(std::uint32_t e) const;
    [[nodiscard]] Candidate finished(Candidate kind) const;
    [[nodiscard]] std::uint32_t outermost(std::uint32_t e, std::span<const char> is_back) const;
    [[nodiscard]] bool leads_only_back(std::uint32_t position, std::span<const char> is_back) const;
    [[nodiscard]] bool is_variable_of_call(std::uint32_t e) const;
    [[nodiscard]] Candidate judge(std::uint32_t e, std::uint32_t item);
    const Candidate& judged_alone(std::uint32_t e);

    const CollapsedGraph& graph_;
    const Component& component_;
    const graph::Rows& holders_;
    const Roles& roles_;
    const std::vector<char>& is_on_cycle_;
    WorkLimit& work_;
    std::map<ReferenceKind, Candidate> judged_;
};

}  // namespace cyclewatch::analysis
