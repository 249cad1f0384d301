// SPDX-License-Identifier: Apache-2.0
#include "watch/report_writer.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace cyclewatch::watch {
namespace {

namespace fs = std::filesystem;

class WriterTest : public ::testing::Test {
  protected:
    void SetUp() override {
        std::string name = (fs::temp_directory_path() / "cyclewatch-test-XXXXXX").string();
        ASSERT_NE(::mkdtemp(name.data()), nullptr);
        folder_ = name;
    }
    void TearDown() override { fs::remove_all(folder_); }

    static std::string read(const fs::path& path) {
        std::ifstream file(path);
        std::stringstream text;
        text << file.rdbuf();
        return text.str();
    }
    // The retained_bytes of a JSON report.
    static std::uint64_t bytes_in(const fs::path& path) {
        const std::string text = read(path);
        const std::string_view key = "\"retained_bytes\":";
        const std::size_t at = text.find(key);
        return at == std::string::npos ? 0 : std::stoull(text.substr(at + key.size()));
    }
    std::shared_ptr<ReportWriter> writer(const std::string& directory) {
        return std::make_shared<ReportWriter>(plan(directory));
    }
    ReportWriter::Plan plan(const std::string& directory) {
        ReportWriter::Plan plan;
        plan.directory = directory;
        plan.stem = "cyclewatch-train-7";
        plan.formats = {render::Format::json, render::Format::text};
        plan.snapshot = [this] {
            model::Report report;
            report.retained_bytes = retained_bytes_.load();
            return report;
        };
        return plan;
    }

    fs::path folder_;
    std::atomic<std::uint64_t> retained_bytes_{1};
};

TEST_F(WriterTest, WritesEveryFormatAndRewritesIt) {
    const auto file = writer(folder_);
    file->changed(true);
    ASSERT_TRUE(file->flush(30));
    EXPECT_EQ(bytes_in(folder_ / "cyclewatch-train-7.json"), 1U);
    EXPECT_NE(read(folder_ / "cyclewatch-train-7.txt"), "");
    retained_bytes_ = 2;
    file->changed(false);
    ASSERT_TRUE(file->flush(30));
    EXPECT_EQ(bytes_in(folder_ / "cyclewatch-train-7.json"), 2U);
    EXPECT_TRUE(file->take_problems().empty());
}

TEST_F(WriterTest, AddsANumberIfAnotherProcessCreatesTheFile) {
    const auto file = writer(folder_);
    std::ofstream(folder_ / "cyclewatch-train-7.json") << "theirs";
    std::ofstream(folder_ / "cyclewatch-train-7-2.json") << "theirs too";
    for (const std::uint64_t expected : {1U, 2U}) {
        file->changed(true);
        ASSERT_TRUE(file->flush(30));
        EXPECT_EQ(read(folder_ / "cyclewatch-train-7.json"), "theirs");
        EXPECT_EQ(read(folder_ / "cyclewatch-train-7-2.json"), "theirs too");
        EXPECT_EQ(bytes_in(folder_ / "cyclewatch-train-7-3.json"), expected);
        ++retained_bytes_;
    }
    EXPECT_EQ(file->path(), (folder_ / "cyclewatch-train-7-3.json").string());
    EXPECT_TRUE(file->take_problems().empty());
}

TEST_F(WriterTest, SkipsReservedNames) {
    ReportWriter::Plan restricted = plan(folder_);
    restricted.is_reserved = [](const std::string& path) { return path.ends_with("-7.txt"); };
    const ReportWriter file(std::move(restricted));
    EXPECT_EQ(file.path(), (folder_ / "cyclewatch-train-7-2.json").string());
}

TEST_F(WriterTest, LeavesNoTemporaryFiles) {
    const auto file = writer(folder_);
    file->changed(true);
    ASSERT_TRUE(file->flush(30));
    EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 2);
    struct stat status {};
    ASSERT_EQ(::stat((folder_ / "cyclewatch-train-7.json").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST_F(WriterTest, NeverReplacesAnExistingFile) {
    std::ofstream(folder_ / "cyclewatch-train-7.txt") << "theirs";
    const auto file = writer(folder_);
    EXPECT_EQ(file->path(), (folder_ / "cyclewatch-train-7-2.json").string());
    file->changed(true);
    ASSERT_TRUE(file->flush(30));
    EXPECT_EQ(read(folder_ / "cyclewatch-train-7.txt"), "theirs");
    EXPECT_NE(read(folder_ / "cyclewatch-train-7-2.txt"), "");
}

TEST_F(WriterTest, CreatesTheFolderOrFallsBackToTheTemporaryDirectory) {
    const auto created = writer(folder_ / "new");
    EXPECT_EQ(created->path(), (folder_ / "new" / "cyclewatch-train-7.json").string());
    const auto fallback = writer("/dev/null/folder");
    EXPECT_EQ(fs::path(fallback->path()).parent_path(), fs::temp_directory_path());
    const auto problems = fallback->take_problems();
    ASSERT_EQ(problems.size(), 1U);
    EXPECT_NE(problems[0].find("/dev/null/folder"), std::string::npos);
}

// Repeated, because the writer and flush() race.
TEST_F(WriterTest, FlushEndsTheQuietPeriod) {
    ReportWriter::Plan slow = plan(folder_);
    slow.quiet_period = std::chrono::hours(1);
    const auto file = std::make_shared<ReportWriter>(std::move(slow));
    for (int i = 0; i < 100; ++i) {
        const auto bytes = static_cast<std::uint64_t>(i);
        retained_bytes_ = bytes;
        file->changed(i % 2 == 0);
        ASSERT_TRUE(file->flush(30));
        ASSERT_EQ(bytes_in(folder_ / "cyclewatch-train-7.json"), bytes);
    }
}

// A program that forks between two reports must not have an additional thread.
TEST_F(WriterTest, TheThreadEndsAfterWriting) {
    const auto threads = [] {
        return std::distance(fs::directory_iterator("/proc/self/task"), fs::directory_iterator());
    };
    const auto before = threads();
    ReportWriter::Plan slow = plan(folder_);
    slow.quiet_period = std::chrono::hours(1);
    const auto file = std::make_shared<ReportWriter>(std::move(slow));
    file->changed(true);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (threads() > before || !fs::exists(folder_ / "cyclewatch-train-7.txt")) {
        ASSERT_LT(std::chrono::steady_clock::now(), deadline);
        std::this_thread::yield();
    }
}

TEST_F(WriterTest, FlushRetriesFailedWrites) {
    const auto file = writer(folder_ / "gone");
    fs::remove_all(folder_ / "gone");
    file->changed(true);
    EXPECT_FALSE(file->flush(30));
    EXPECT_EQ(file->path(), "");
    EXPECT_TRUE(file->paths().empty());
    const std::string failure = "cyclewatch could not write " +
                                (folder_ / "gone" / "cyclewatch-train-7.txt").string() +
                                ": No such file or directory";
    EXPECT_EQ(file->failures().back(), failure);
    EXPECT_FALSE(file->take_problems().empty());
    fs::create_directory(folder_ / "gone");
    EXPECT_TRUE(file->flush(30));
    EXPECT_EQ(file->path(), (folder_ / "gone" / "cyclewatch-train-7.json").string());
    EXPECT_TRUE(file->failures().empty());
    EXPECT_NE(read(folder_ / "gone" / "cyclewatch-train-7.txt"), "");
}

}  // namespace
}  // namespace cyclewatch::watch
