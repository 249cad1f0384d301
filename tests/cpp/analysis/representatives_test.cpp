// SPDX-License-Identifier: Apache-2.0
#include "analysis/representatives.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "support/graph_text.h"

namespace cyclewatch::analysis {
namespace {

using test_support::observe;
using ::testing::ElementsAre;

// A ring of two with an owner: three nodes.
std::string ring(const std::string& name,
                 const std::string& label = ".other",
                 const std::string& owner = "owner(16)",
                 const std::string& place = "") {
    return name + "=m.Node" + place + " " + name + "x=m.Node " + name + label + "->" + name + "x " +
           name + "x.back->" + name + " " + name + ".w->" + name + "t:" + owner + "=torch.Tensor ";
}

// Copies of each cluster, as its first node tells them; three nodes to a cluster.
std::vector<std::uint32_t> copies_of(const model::Observation& observation) {
    const Representatives representatives = choose_representatives(observation);
    std::vector<std::uint32_t> copies;
    for (std::size_t n = 0; n < representatives.copies.size(); n += 3) {
        EXPECT_EQ(representatives.copies[n], representatives.copies[n + 1]);
        EXPECT_EQ(representatives.copies[n], representatives.copies[n + 2]);
        copies.push_back(representatives.copies[n]);
    }
    return copies;
}

TEST(Representatives, HasOneOfEqualClustersAndItsOwners) {
    const model::Observation observation = observe(ring("a") + ring("b") + ring("c"));
    EXPECT_THAT(copies_of(observation), ElementsAre(3, 0, 0));
    const Representatives representatives = choose_representatives(observation);
    ASSERT_EQ(representatives.owners.size(), 1U);
    EXPECT_EQ(representatives.owners[0].node, observation.owners[0].node);
}

TEST(Representatives, TellsClustersApartByAnythingThatAReportShows) {
    EXPECT_THAT(copies_of(observe(ring("a") + ring("b", ".twin"))), ElementsAre(1, 1));
    EXPECT_THAT(copies_of(observe(ring("a") + ring("b", ".other", "owner(17)"))),
                ElementsAre(1, 1));
    EXPECT_THAT(copies_of(observe(ring("a", ".other", "owner(16)", "@b.py:1") +
                                  ring("b", ".other", "owner(16)", "@b.py:2") +
                                  ring("c", ".other", "owner(16)", "@c.py:1"))),
                ElementsAre(1, 1, 1));
    EXPECT_THAT(copies_of(observe(ring("a") + ring("b", ".other", "owner(16,s,held)"))),
                ElementsAre(1, 1));
    EXPECT_THAT(copies_of(observe(ring("a", "[1]") + ring("b", "[2]") + ring("c", "[1]"))),
                ElementsAre(2, 1, 0));
}

TEST(Representatives, TellsOwnersApart) {
    model::Observation observation = observe(ring("a") + ring("b") + ring("c") + ring("d"));
    observation.owners[1].shape = "[2, 2]";
    observation.owners[2].is_part = true;
    observation.storages[3].device = "cuda:1";
    EXPECT_THAT(copies_of(observation), ElementsAre(1, 1, 1, 1));
}

TEST(Representatives, HasAllClustersThatShareAStorage) {
    const std::string shared = "owner(16,s)";
    const model::Observation observation =
        observe(ring("a") + ring("b", ".other", shared) + ring("c", ".other", shared) + ring("d"));
    EXPECT_THAT(copies_of(observation), ElementsAre(2, 1, 1, 0));
}

TEST(Representatives, HasTheClustersThatStandForOthersAlready) {
    model::Observation observation = observe(ring("a") + ring("b") + ring("c"));
    observation.repeats.push_back({observation.owners[1].node, 9, 9, 144});
    EXPECT_THAT(copies_of(observation), ElementsAre(2, 1, 0));
}

}  // namespace
}  // namespace cyclewatch::analysis
