// SPDX-License-Identifier: Apache-2.0
// Findings depend neither on the order in which the collector lists objects nor on addresses.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "analysis/analyze.h"
#include "support/graph_text.h"

namespace cyclewatch::analysis {
namespace {

using test_support::observe;

// What a report shows of the findings, as text.
std::string printed(const std::vector<model::Finding>& findings) {
    std::string text;
    const auto add = [&text](const model::Reference& reference) {
        text += reference.holder + reference.label + reference.target + reference.location +
                reference.reason + "\n";
    };
    for (const model::Finding& finding : findings) {
        text += finding.signature + finding.title + finding.remedy + finding.pattern +
                std::to_string(finding.retained_bytes) + "/" +
                std::to_string(finding.shared_bytes) + "/" + std::to_string(finding.largest_bytes) +
                "*" + std::to_string(finding.occurrences) + "\n";
        for (const auto* list : {&finding.cycle, &finding.cut, &finding.alternatives}) {
            std::for_each(list->begin(), list->end(), add);
        }
        for (const model::OwnerSummary& owner : finding.owners) {
            std::uint64_t over = 0;
            std::set<model::StorageId> storages;
            for (const model::StorageShare& share : owner.storages) {
                over += share.owners;
                storages.insert(share.storage);
            }
            text += owner.path + "*" + std::to_string(owner.count) + " " + std::to_string(over) +
                    " over " + std::to_string(storages.size()) + "\n";
        }
        text += "and " + std::to_string(finding.omitted_owners) + "\n";
        for (const auto& item : finding.picture.items) {
            text += item.text + " ";
        }
        text += "and " + std::to_string(finding.picture.omitted_items) + "\n";
    }
    return text;
}

// Two paths from R back to R that differ only far from R.
std::string paths_that_differ_far_away() {
    std::string text = "R=m.R s:set R.s->s R.w->t:owner(64)";
    for (const std::string path : {"a", "b"}) {
        text += " s/element->" + path + "0";
        for (int i = 0; i < 30; ++i) {
            const std::string node = path + std::to_string(i);
            const std::string next = i == 29 ? "R" : path + std::to_string(i + 1);
            text += " " + node + ".n->" + next + " " + node + "=m." + (i == 15 ? path : "N");
        }
    }
    return text;
}

TEST(Determinism, FindingsDoNotDependOnTheOrderOfObjects) {
    const std::string texts[] = {
        "r=m.Node a=m.Node b=m.Node c=m.Node r.left->a r.right->b a.up->r b.up->r a.twin->b "
        "b.twin->a c.twin->a a.kid->c r.w->t:owner(64) a.w->u:owner(64) b.w->v:owner(64) "
        "E.cb->l:list l[0]->f:function l[1]->g:function f/closure:self->E g/closure:self->E "
        "E.root->r E.w->x:owner(128)",
        // Objects of one type that differ in their neighbourhood only.
        "A.s->s:set s/element->a s/element->b s/element->c a=m.N b=m.N c=m.N a.up->A b.back->A "
        "c.x->d d=m.M d.y->A A.w->t:owner(8)",
        paths_that_differ_far_away(),
    };
    for (const std::string& text : texts) {
        const std::string expected = printed(analyze(observe(text)));
        ASSERT_FALSE(expected.empty());
        for (std::uint64_t shuffle = 1; shuffle < 60; ++shuffle) {
            ASSERT_EQ(printed(analyze(observe(text, shuffle))), expected) << shuffle << text;
        }
    }
}

// Two rings with references between them and to common owners. `copy` makes node and storage names
// unique.
std::string random_cluster(std::uint32_t seed, int copy) {
    std::mt19937 random(seed);
    const auto below = [&random](std::uint32_t limit) {
        return static_cast<std::uint32_t>(random() % limit);
    };
    const std::uint32_t nodes = 2 * (1 + below(3));
    const auto name = [&](std::uint32_t n) {
        return "c" + std::to_string(copy) + "n" + std::to_string(n);
    };
    std::string text;
    for (std::uint32_t n = 0; n < nodes; ++n) {
        text += " " + name(n) + "=m.N" + std::to_string(below(3) == 0 ? 0 : n);
    }
    for (std::uint32_t n = 0; n < nodes; ++n) {
        text += " " + name(n) + ".next->" + name((n + 2) % nodes) + " " + name(below(nodes)) +
                ".e" + std::to_string(n) + "->" + name(below(nodes));
    }
    const std::uint32_t held = below(5);
    const std::uint32_t owners = 1 + below(4);
    for (std::uint32_t o = 0; o < owners; ++o) {
        const std::uint32_t storage = below(2);
        text += " " + name(below(nodes)) + ".w" + std::to_string(o) + "->" + name(100 + o) +
                ":owner(" + std::to_string(8U << storage) + ",s" + std::to_string(copy) + "." +
                std::to_string(storage) + (storage == held ? ",held" : "") + ")=torch.Tensor";
    }
    return text;
}

TEST(Determinism, RandomClustersDoNotDependOnTheOrderOfObjects) {
    for (std::uint32_t seed = 0; seed < 100; ++seed) {
        std::string text;
        for (int copy = 0; copy < 12; ++copy) {
            text += random_cluster(seed + (copy % 4 == 3 ? 1 : 0), copy);
        }
        ASSERT_EQ(printed(analyze(observe(text))), printed(analyze(observe(text, 7)))) << text;
    }
}

}  // namespace
}  // namespace cyclewatch::analysis
