// SPDX-License-Identifier: Apache-2.0
#include "render/renderer.h"

#include <cgraph.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "support/hostile_names.h"
#include "support/sample_report.h"

namespace cyclewatch::render {
namespace {

TEST(Dot, IsReadBackByGraphvizWhateverTheNames) {
    for (const std::string& name : testing::hostile_names()) {
        const model::Report report = testing::make_hostile_report(name);
        Agraph_t* const graph = agmemread(render_dot(report).c_str());
        ASSERT_NE(graph, nullptr);
        std::size_t items = 0;
        for (const model::Finding& finding : report.findings) {
            items += finding.picture.items.size() + (finding.picture.omitted_items > 0 ? 1 : 0);
        }
        EXPECT_EQ(static_cast<std::size_t>(agnnodes(graph)), items);
        agclose(graph);
    }
}

TEST(Dot, ComesOutTheSameOnManyThreads) {
    const model::Report report = testing::make_sample_report();
    const std::string expected = render_dot(report);
    std::array<std::string, 4> written;
    std::vector<std::thread> threads;
    for (std::string& out : written) {
        threads.emplace_back([&out, &report] { out = render_dot(report); });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    for (const std::string& out : written) {
        EXPECT_EQ(out, expected);
    }
}

TEST(Dot, CanBeWrittenInAChildForkedWhileAnotherThreadWrites) {
    const model::Report report = testing::make_sample_report();
    const std::string expected = render_dot(report);
    std::atomic<bool> stop{false};
    std::thread writer([&] {
        while (!stop) {
            EXPECT_EQ(render_dot(report), expected);
        }
    });
    for (int round = 0; round < 8; ++round) {
        const pid_t child = fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            alarm(30);  // a child that finds the lock taken for ever must not hang the tests
            _exit(render_dot(report) == expected ? 0 : 1);
        }
        int status = 0;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    }
    stop = true;
    writer.join();
}

}  // namespace
}  // namespace cyclewatch::render
