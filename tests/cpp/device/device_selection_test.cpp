// SPDX-License-Identifier: Apache-2.0
#include "device/device_selection.h"

#include <gtest/gtest.h>

namespace cyclewatch::device {
namespace {

DeviceSelection parsed(const std::vector<std::string>& words) {
    auto selection = DeviceSelection::parse(words);
    EXPECT_TRUE(selection.ok()) << selection.error();
    return std::move(selection).value();
}

TEST(DeviceSelection, AutoMeansAcceleratorsWhereOneIsUsableAndTheCpuWhereNoneIs) {
    const DeviceSelection automatic = parsed({"auto"});
    EXPECT_TRUE(automatic.matches("cpu", false));
    EXPECT_FALSE(automatic.matches("cpu", true));
    EXPECT_TRUE(automatic.matches("cuda:0", true));
    EXPECT_TRUE(automatic.matches("xpu:0", false));
    EXPECT_FALSE(automatic.matches("meta", true));
}

TEST(DeviceSelection, AKindMatchesEveryIndexAndAnIndexOnlyItself) {
    EXPECT_TRUE(parsed({"cuda"}).matches("cuda:3", true));
    EXPECT_TRUE(parsed({"cuda:3"}).matches("cuda:3", true));
    EXPECT_FALSE(parsed({"cuda:3"}).matches("cuda:1", true));
    EXPECT_FALSE(parsed({"cuda"}).matches("cpu", true));
    EXPECT_TRUE(parsed({"cuda", "cpu"}).matches("cpu", true));
    EXPECT_TRUE(parsed({"all"}).matches("mps", false));
}

TEST(DeviceSelection, AnUnknownWordIsNamedBesideTheValidOnes) {
    for (const char* word : {"gpu", "cuda:", "cuda:x", "auto:1", "all:0", ""}) {
        const auto selection = DeviceSelection::parse({"cpu", word});
        ASSERT_FALSE(selection.ok()) << word;
        EXPECT_NE(selection.error().find("'" + std::string(word) + "'"), std::string::npos);
        EXPECT_NE(selection.error().find("cuda"), std::string::npos);
    }
    EXPECT_FALSE(DeviceSelection::parse({}).ok());
}

}  // namespace
}  // namespace cyclewatch::device
