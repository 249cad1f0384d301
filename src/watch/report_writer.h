// SPDX-License-Identifier: Apache-2.0
// Writes the report files of one watch on a background thread. The thread exists only while there
// is something to write, and never calls Python. Thread-safe.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <vector>

#include "model/report.h"
#include "render/renderer.h"

namespace cyclewatch::watch {

class ReportWriter : public std::enable_shared_from_this<ReportWriter> {
  public:
    struct Plan {
        std::string directory;  // absolute, because the program may change its current directory
        bool create_directory = false;  // if missing
        std::string stem;               // "cyclewatch-train-1234"
        std::vector<render::Format> formats;
        bool replace = false;  // existing files may be replaced
        // Returns true if `path` is reserved for another watch, even if no such file exists yet.
        // Null: no path is reserved.
        std::function<bool(const std::string& path)> is_reserved;
        std::function<model::Report()> snapshot;  // thread-safe
    };

    explicit ReportWriter(Plan plan);

    // The path of the report file in the first format, even if that file has not been written yet;
    // "" if the last write failed. The path is in the temporary directory if the chosen directory
    // is not writable. The file name contains a number if the original name was already taken.
    [[nodiscard]] std::string path() const;
    // The paths of all formats that could be written.
    [[nodiscard]] std::vector<std::string> paths() const;
    // One sentence, without a trailing period, for each format that could not be written.
    [[nodiscard]] std::vector<std::string> failures() const;

    // Schedules a write, which happens immediately if `soon` is true, otherwise after the quiet
    // period. Starts the thread if needed.
    void changed(bool soon) noexcept;

    // Waits up to `seconds` for all changes to be written to disk, and retries failed writes.
    // Returns true if all changes are on disk. REQUIRES: GIL not held.
    bool flush(double seconds) noexcept;

    // The errors since the last call, without duplicates.
    [[nodiscard]] std::vector<std::string> take_problems();

  private:
    void choose_directory();
    void choose_names();
    // The path of the report file in one format. If `number` is greater than 1, the file name ends
    // with -<number> before the extension.
    [[nodiscard]] std::string numbered(int number, render::Format format) const;
    void run() noexcept;
    // Writes the files of all formats. `lock`, which locks mutex_, is released while writing.
    void write_unlocked(std::unique_lock<std::mutex>& lock) noexcept;
    bool write_all() noexcept;
    bool write_one(const model::Report& report, std::size_t format);
    // Sets the failure message of a format; `failure` is "" on success.
    void set_failure(std::size_t format, std::string failure);
    [[nodiscard]] std::error_code put(const std::string& text, std::size_t format);
    template <typename MakeMessage>
    void add_problem(const MakeMessage& make_message) noexcept;

    Plan plan_;
    std::vector<std::string> paths_;     // parallel to plan_.formats
    std::vector<bool> written_;          // parallel: the file is ours and may be replaced
    std::vector<std::string> failures_;  // parallel: why the last write failed, or ""
    mutable std::mutex mutex_;
    std::condition_variable wake_;
    std::condition_variable idle_;
    bool running_ = false;
    bool dirty_ = false;
    bool soon_ = false;
    bool failed_ = false;  // in the last write
    std::chrono::steady_clock::time_point quiet_until_;
    int flushing_ = 0;  // number of waiting flush() calls, which end the quiet period
    std::vector<std::string> problems_;
    std::vector<std::string> reported_problems_;
};

}  // namespace cyclewatch::watch
