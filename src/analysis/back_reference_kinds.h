// SPDX-License-Identifier: Apache-2.0
// Groups the back references to a parent by the code that stores them, and scores each group.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analysis/candidate.h"
#include "analysis/roles.h"

namespace cyclewatch::analysis {

// All arguments of the constructor must outlive this object.
class BackReferenceKinds {
  public:
    BackReferenceKinds(const Component& component,
                       const Holders& holders,
                       const Roles& roles,
                       const IndexSet<InnerEdgeIx>& on_cycle,
                       WorkLimit& work)
        : graph_(component.graph),
          component_(component),
          holders_(holders),
          roles_(roles),
          on_cycle_(on_cycle),
          work_(work) {}

    // Returns one candidate for each kind of reference in `back`. References created by the same
    // line of code are of the same kind. The result is empty if any of the kinds must not be
    // suggested.
    [[nodiscard]] std::vector<InnerCandidate> kinds_of(const std::vector<InnerEdgeIx>& back);

    // Sorts `kinds` for display. Kinds with the same pattern as kinds.front() come first, then
    // kinds with a reference to `parent`. Ties are broken first by the number of
    // references to the target's class, then by the number of references of the kind, and finally
    // by whether the kind's first reference is on the cycle. Two kinds compare equal only if all
    // their names are equal.
    void sort_for_reader(std::vector<InnerCandidate>& kinds, NodeIx parent) const;

    // Maps each role to the highest score among the kinds with that role.
    [[nodiscard]] std::map<std::string, int> roles_of(
        const std::vector<InnerCandidate>& kinds) const;

    // The score of `e` on the shortest cycle that contains it.
    [[nodiscard]] int score_alone(InnerEdgeIx e) { return judged_alone(e).score; }

  private:
    [[nodiscard]] std::string holder_name(InnerEdgeIx e) const;
    [[nodiscard]] std::string target_name(InnerEdgeIx e) const;
    [[nodiscard]] InnerCandidate finished(InnerCandidate kind) const;
    [[nodiscard]] InnerEdgeIx outermost(InnerEdgeIx e, const IndexSet<InnerEdgeIx>& is_back) const;
    [[nodiscard]] bool leads_only_back(MemberIx position,
                                       const IndexSet<InnerEdgeIx>& is_back) const;
    [[nodiscard]] bool is_variable_of_call(InnerEdgeIx e) const;
    [[nodiscard]] InnerCandidate judge(InnerEdgeIx e, InnerEdgeIx item);
    const InnerCandidate& judged_alone(InnerEdgeIx e);

    const CollapsedGraph& graph_;
    const Component& component_;
    const Holders& holders_;
    const Roles& roles_;
    const IndexSet<InnerEdgeIx>& on_cycle_;
    WorkLimit& work_;
    std::map<ReferenceKind, InnerCandidate> judged_;
};

}  // namespace cyclewatch::analysis
