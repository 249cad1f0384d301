// SPDX-License-Identifier: Apache-2.0
// Writes the report file of one watch, in the background: on a thread that exists only while
// there is something to write, never calls Python and never holds up a collection.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <vector>

#include "base/result.h"
#include "model/report.h"

namespace cyclewatch::watch {

class ReportWriter : public std::enable_shared_from_this<ReportWriter> {
  public:
    // How a report becomes text; given from above, so that this room needs no renderer.
    using Render =
        std::function<base::Result<std::string>(const model::Report&, const std::string& format)>;
    using Snapshot = std::function<model::Report()>;

    struct Plan {
        std::string directory;             // "" for the current one
        bool may_make_directory = true;    // if it is not there
        std::string stem;                  // "cyclewatch-train-1234"
        std::vector<std::string> formats;  // "html" ...
        bool replace = false;              // a file that stands there already may be replaced
        // Names that must not be used although no file has them yet; null: there are none.
        std::function<bool(const std::string& path)> reserved;
        // Counts that merely go up are written at most this often.
        std::chrono::milliseconds quiet_period{1000};
        Render render;
        Snapshot snapshot;  // thread-safe
    };

    explicit ReportWriter(Plan plan);

    // Where the first format's file will stand; known before it is written, "" while a file could
    // not be written. Falls back to the temporary directory where the chosen one is not writable,
    // and to the next free name where another process wrote its own file first.
    [[nodiscard]] std::string path() const;
    // Of each format, but for those that could not be written.
    [[nodiscard]] std::vector<std::string> paths() const;
    // A sentence without its end for each of these.
    [[nodiscard]] std::vector<std::string> failures() const;

    // The report changed. `soon`: write now; otherwise within a quiet period, with other changes.
    // ALLOCATES: yes; starts the thread if none runs. Never throws.
    void changed(bool soon) noexcept;

    // Waits until everything is on disk, at most `seconds`; what could not be written before is
    // tried once more. False if it is not there by then.
    // REQUIRES: GIL not held (writing does not need it, but waiting would stop the program).
    bool flush(double seconds) noexcept;

    // What went wrong since the last call, each sentence once.
    [[nodiscard]] std::vector<std::string> take_problems();

  private:
    void choose_directory();
    void choose_names();
    // The path of that format: with the plain name if `number` is 1, else with -2, -3 ...
    [[nodiscard]] std::string numbered(int number, const std::string& format) const;
    void run() noexcept;
    // Writes what there is now, with `lock` on mutex_ released meanwhile.
    void write_unlocked(std::unique_lock<std::mutex>& lock) noexcept;
    // False if a format could not be written.
    bool write_all() noexcept;
    bool write_one(const model::Report& report, std::size_t format);
    // How it went with that format: "", or why it could not be written.
    void note(std::size_t format, std::string failure);
    [[nodiscard]] std::error_code put(const std::string& text, std::size_t format);
    // Keeps what sentence() says, once.
    template <typename Sentence>
    void problem(const Sentence& sentence) noexcept;

    Plan plan_;
    std::vector<std::string> paths_;  // parallel to plan_.formats
    std::vector<bool> written_;       // ours stands there: may be replaced
    // Parallel too: why the last attempt did not write it, "" where it did.
    std::vector<std::string> failures_;
    mutable std::mutex mutex_;
    std::condition_variable wake_;
    std::condition_variable idle_;
    bool running_ = false;
    bool dirty_ = false;
    bool soon_ = false;
    bool failed_ = false;  // the last attempt left something unwritten
    std::chrono::steady_clock::time_point quiet_until_;  // when counts may be written again
    int flushing_ = 0;  // calls of flush() that wait: no time for a quiet period
    std::vector<std::string> problems_;
    std::vector<std::string> told_;
};

}  // namespace cyclewatch::watch
