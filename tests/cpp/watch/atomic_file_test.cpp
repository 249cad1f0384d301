// SPDX-License-Identifier: Apache-2.0
#include "watch/atomic_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace cyclewatch::watch {
namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

class AtomicFileTest : public ::testing::Test {
  protected:
    void SetUp() override {
        std::string pattern = fs::temp_directory_path() / "cyclewatch-test-XXXXXX";
        folder_ = ::mkdtemp(pattern.data());
        before_ = ::umask(027);
    }
    void TearDown() override {
        ::umask(before_);
        fs::remove_all(folder_);
    }

    [[nodiscard]] unsigned mode_of(const std::string& name) const {
        struct stat status {};
        EXPECT_EQ(::lstat((folder_ / name).c_str(), &status), 0);
        return status.st_mode & 07777U;
    }
    [[nodiscard]] std::size_t files() const {
        return static_cast<std::size_t>(
            std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
    }

    fs::path folder_;
    mode_t before_ = 0;
};

TEST_F(AtomicFileTest, ReplacesOrKeepsAnExistingFile) {
    const std::string path = folder_ / "report.json";
    EXPECT_FALSE(write_file(path, "old", Existing::keep, Readers::owner));
    EXPECT_FALSE(write_file(path, "new", Existing::replace, Readers::owner));
    EXPECT_EQ(read(path), "new");
    EXPECT_EQ(write_file(path, "third", Existing::keep, Readers::owner), std::errc::file_exists);
    EXPECT_EQ(read(path), "new");
    EXPECT_EQ(files(), 1U);
}

TEST_F(AtomicFileTest, ReturnsTheError) {
    EXPECT_EQ(write_file(folder_ / "missing" / "x", "text", Existing::replace, Readers::umask),
              std::errc::no_such_file_or_directory);
    fs::create_directory(folder_ / "folder");
    EXPECT_TRUE(write_file(folder_ / "folder", "text", Existing::replace, Readers::umask));
    EXPECT_EQ(files(), 1U);
}

TEST_F(AtomicFileTest, SetsTheMode) {
    for (const mode_t mask : {027U, 0U}) {
        ::umask(mask);
        const std::string ours = folder_ / "ours";
        ASSERT_FALSE(write_file(ours, "text", Existing::replace, Readers::owner));
        ASSERT_FALSE(write_file(folder_ / "named", "text", Existing::replace, Readers::umask));
        EXPECT_EQ(mode_of("ours"), 0600U);
        EXPECT_EQ(mode_of("named"), 0666U & ~mask);
    }
}

TEST_F(AtomicFileTest, ReplacesALinkButNotItsTarget) {
    ASSERT_FALSE(write_file(folder_ / "theirs", "theirs", Existing::keep, Readers::umask));
    fs::create_symlink("theirs", folder_ / "link");
    EXPECT_EQ(write_file(folder_ / "link", "ours", Existing::keep, Readers::umask),
              std::errc::file_exists);
    EXPECT_FALSE(write_file(folder_ / "link", "ours", Existing::replace, Readers::umask));
    EXPECT_EQ(read(folder_ / "theirs"), "theirs");
    EXPECT_EQ(read(folder_ / "link"), "ours");
    EXPECT_FALSE(fs::is_symlink(folder_ / "link"));
}

TEST_F(AtomicFileTest, WritesIntoADevice) {
    EXPECT_FALSE(write_file("/dev/null", "text", Existing::replace_or_write_into, Readers::umask));
    EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(AtomicFileTest, FollowsNoPipeAndNoLink) {
    const std::string path = folder_ / "report";
    // Opening a pipe without a reader would block; a device would swallow the report.
    ASSERT_EQ(::mkfifo(path.c_str(), 0666), 0);
    EXPECT_EQ(write_file(path, "text", Existing::keep, Readers::owner), std::errc::file_exists);
    EXPECT_FALSE(write_file(path, "text", Existing::replace, Readers::owner));
    EXPECT_EQ(read(path), "text");
    for (const char* target : {"/dev/null", "missing", "report"}) {
        fs::remove(path);
        fs::create_symlink(target, path);
        EXPECT_EQ(write_file(path, "text", Existing::keep, Readers::owner), std::errc::file_exists);
        EXPECT_TRUE(fs::is_symlink(path)) << target;
        EXPECT_FALSE(write_file(path, "text", Existing::replace, Readers::owner)) << target;
        EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(path))) << target;
    }
    fs::remove(path);
    fs::create_directory(path);
    EXPECT_TRUE(write_file(path, "text", Existing::replace, Readers::owner));
    EXPECT_TRUE(fs::is_directory(path));
    EXPECT_EQ(files(), 1U);
}

TEST_F(AtomicFileTest, AcceptsTheLongestFileName) {
    const std::string name(255, 'n');
    EXPECT_FALSE(write_file(folder_ / name, "text", Existing::keep, Readers::umask));
    EXPECT_EQ(files(), 1U);
}

}  // namespace
}  // namespace cyclewatch::watch
