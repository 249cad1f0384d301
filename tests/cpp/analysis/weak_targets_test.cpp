// SPDX-License-Identifier: Apache-2.0
#include "analysis/weak_targets.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>

#include "analysis/analyze.h"
#include "support/graph_text.h"

namespace cyclewatch::analysis {
namespace {

// `text`, in which the classes `unsupported` do not support weak references. Lists, tuples and
// dicts never do.
model::Finding finding_of(std::string_view text, const std::set<std::string>& unsupported = {}) {
    model::Observation observation = test_support::observe(text);
    for (model::Node& node : observation.graph.nodes) {
        if (unsupported.contains(std::string(observation.graph.text(node.name)))) {
            node.supports_weakref = false;
        }
    }
    const auto findings = analyze(observation);
    EXPECT_EQ(findings.size(), 1U) << text;
    return findings.empty() ? model::Finding{} : findings[0];
}

bool contains(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

constexpr std::string_view kOrders =
    "R=m.Net R.w->t:owner(8) R.a->A=m.Layer R.b->B=m.Layer A.parent->R B.parent->R "
    "A._items->l:list l[0]->R A._index->d:dict d/key->R B._items->k:list k[0]->R";

TEST(WeakTargets, StoresWeakReferencesInTheContainersOfASet) {
    const model::Finding finding = finding_of(kOrders);
    EXPECT_TRUE(finding.advice.starts_with(
        "Replace each of these references except `._items` and `._index` with a weakref.ref"))
        << finding.advice;
    EXPECT_TRUE(
        contains(finding.advice, "In `._items` and `._index`, store a weakref.ref to each object"))
        << finding.advice;
}

TEST(WeakTargets, ClearsTheReferencesOfASetToObjectsWithoutWeakReferences) {
    const model::Finding finding = finding_of(kOrders, {"m.Net"});
    EXPECT_EQ(finding.advice, "Set each of these references to None when it is no longer needed.");
    EXPECT_FALSE(contains(finding.cost, "weak")) << finding.cost;
}

TEST(WeakTargets, NamesTheItemsThatDoNotSupportWeakReferences) {
    const std::string_view text =
        "T=m.Table T.w->t:owner(8) T.views->l:list l[0]->V=m.View l[1]->W=m.View V.rows->k:list "
        "k[0]->T W.rows->j:list j[0]->T";
    EXPECT_TRUE(contains(finding_of(text).advice, "weak")) << finding_of(text).advice;
    const model::Finding finding = finding_of(text, {"m.View", "m.Table"});
    EXPECT_FALSE(contains(finding.advice, "weakref")) << finding.advice;
}

// A weak reference to a bound method is dead at once.
TEST(WeakTargets, AdvisesAWeakMethodForABoundMethodInAContainer) {
    const std::string_view text =
        "R=m.Net R.w->t:owner(8) R.hub->A=m.Hub A.net->R A.calls->l:list l[0]->x:method=m.Net.run "
        "x/__self__->R";
    for (const model::Reference& other : finding_of(text).alternatives) {
        EXPECT_FALSE(contains(other.reason, "weakref.ref ")) << other.reason;
    }
}

}  // namespace
}  // namespace cyclewatch::analysis
