// SPDX-License-Identifier: Apache-2.0
#include "device/device_selection.h"

#include <gtest/gtest.h>

namespace cyclewatch::device {
namespace {

TEST(DeviceSelection, MatchesDevices) {
    struct Case {
        std::vector<std::string> words;
        const char* device;
        bool accelerator_usable;
        bool matches;
    };
    for (const Case& each : std::initializer_list<Case>{{{"auto"}, "cpu", false, true},
                                                        {{"auto"}, "cpu", true, false},
                                                        {{"auto"}, "cuda:0", true, true},
                                                        {{"auto"}, "xpu:0", false, true},
                                                        {{"auto"}, "meta", true, false},
                                                        {{"cuda"}, "cuda:3", true, true},
                                                        {{"cuda:3"}, "cuda:3", true, true},
                                                        {{"cuda:3"}, "cuda:1", true, false},
                                                        {{"cuda"}, "cpu", true, false},
                                                        {{"cpu:0"}, "cpu", true, true},
                                                        {{"cuda", "cpu"}, "cpu", true, true},
                                                        {{"all"}, "mps", false, true}}) {
        const auto selection = DeviceSelection::parse(each.words);
        ASSERT_TRUE(selection.ok()) << selection.error();
        EXPECT_EQ(selection.value().matches(each.device, each.accelerator_usable), each.matches)
            << each.words[0] << ' ' << each.device;
    }
}

TEST(DeviceSelection, RejectsUnknownDevices) {
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
