// SPDX-License-Identifier: Apache-2.0
#include "watch/report_writer.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include "base/threads.h"
#include "watch/atomic_file.h"

namespace cyclewatch::watch {
namespace {

// Minimum time between two writes, unless changed(true) or flush() is called.
constexpr std::chrono::milliseconds kQuietPeriod{1000};

// The highest number that is added to a file name.
constexpr int kMostNames = 999;

std::string temporary_directory() {
    const char* wish = std::getenv("TMPDIR");
    return wish != nullptr && *wish != '\0' ? wish : "/tmp";
}

bool writable(const std::string& directory) {
    return ::access(directory.c_str(), W_OK | X_OK) == 0;
}

}  // namespace

template <typename MakeMessage>
void ReportWriter::add_problem(const MakeMessage& make_message) noexcept {
    try {
        const std::string message = make_message();
        const std::lock_guard lock(mutex_);
        const bool is_new =
            std::ranges::find(reported_problems_, message) == reported_problems_.end();
        if (is_new && reported_problems_.size() < 16) {
            reported_problems_.push_back(message);
            problems_.push_back(message);
        }
    } catch (const std::bad_alloc&) {
        // The message is lost.
    }
}

ReportWriter::ReportWriter(Plan plan)
    : plan_(std::move(plan)),
      written_(plan_.formats.size(), plan_.replace),
      failures_(plan_.formats.size()) {
    choose_directory();
    choose_names();
}

void ReportWriter::choose_directory() {
    if (plan_.create_directory) {
        std::error_code ignored;  // writable() checks the result
        std::filesystem::create_directories(plan_.directory, ignored);
    }
    if (!writable(plan_.directory)) {
        const std::string wanted = std::exchange(plan_.directory, temporary_directory());
        add_problem([&] {
            return "cyclewatch cannot write to " + wanted + "; the report is written to " +
                   plan_.directory + " instead.";
        });
    }
}

std::string ReportWriter::numbered(int number, render::Format format) const {
    const std::string mark = number == 1 ? "" : "-" + std::to_string(number);
    return plan_.directory + "/" + plan_.stem + mark + std::string(render::format_suffix(format));
}

void ReportWriter::choose_names() {
    // Skips names that are taken, to keep the reports of earlier processes with the same id.
    const auto taken = [&](int number) {
        return !plan_.replace && std::ranges::any_of(plan_.formats, [&](render::Format format) {
            const std::string path = numbered(number, format);
            struct stat status {};
            return (plan_.is_reserved && plan_.is_reserved(path)) ||
                   ::lstat(path.c_str(), &status) == 0;
        });
    };
    int number = 1;
    while (number < kMostNames && taken(number)) {
        ++number;
    }
    for (const render::Format format : plan_.formats) {
        paths_.push_back(numbered(number, format));
    }
}

std::string ReportWriter::path() const {
    const std::lock_guard lock(mutex_);
    return paths_.empty() || failed_ ? std::string() : paths_.front();
}

std::vector<std::string> ReportWriter::paths() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> paths;
    for (std::size_t format = 0; format < paths_.size(); ++format) {
        if (failures_[format].empty()) {
            paths.push_back(paths_[format]);
        }
    }
    return paths;
}

std::vector<std::string> ReportWriter::failures() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> failures = failures_;
    std::erase(failures, "");
    return failures;
}

void ReportWriter::changed(bool soon) noexcept {
    if (paths_.empty()) {
        return;
    }
    const std::lock_guard lock(mutex_);
    dirty_ = true;
    soon_ = soon_ || soon;
    if (running_) {
        if (soon) {  // otherwise waking the thread would only preempt this one
            wake_.notify_all();
        }
        return;
    }
    try {
        base::start_thread("cyclewatch/file", [self = shared_from_this()] {
            self->run();
        }).detach();
        running_ = true;
    } catch (...) {
        // No thread could be started; flush() writes the report.
    }
}

void ReportWriter::run() noexcept {
    std::unique_lock lock(mutex_);
    while (dirty_) {
        wake_.wait_until(lock, quiet_until_, [this] { return soon_ || flushing_ > 0; });
        write_unlocked(lock);
        quiet_until_ = std::chrono::steady_clock::now() + kQuietPeriod;
    }
    running_ = false;
    idle_.notify_all();
}

bool ReportWriter::flush(double seconds) noexcept {
    std::unique_lock lock(mutex_);
    ++flushing_;
    wake_.notify_all();
    const bool idle =
        idle_.wait_for(lock, std::chrono::duration<double>(seconds), [this] { return !running_; });
    --flushing_;
    // Changes are still unwritten if no thread could be started or if a write failed. A retry may
    // succeed.
    if (idle && (dirty_ || failed_)) {
        write_unlocked(lock);
    }
    return idle && !dirty_ && !failed_;
}

void ReportWriter::write_unlocked(std::unique_lock<std::mutex>& lock) noexcept {
    dirty_ = false;
    soon_ = false;
    lock.unlock();
    const bool written = write_all();
    lock.lock();
    failed_ = !written;
}

bool ReportWriter::write_all() noexcept {
    try {
        const model::Report report = plan_.snapshot();
        bool written = true;
        for (std::size_t format = 0; format < plan_.formats.size(); ++format) {
            written = write_one(report, format) && written;
        }
        return written;
    } catch (const std::exception& error) {
        add_problem([&] {
            return std::string("cyclewatch could not create its report: ") + error.what() + ".";
        });
        return false;
    }
}

bool ReportWriter::write_one(const model::Report& report, std::size_t format) {
    const std::error_code error = put(render::render(report, plan_.formats[format]), format);
    if (error) {
        const std::string failure =
            "cyclewatch could not write " + paths_[format] + ": " + error.message();
        add_problem([&] {
            return failure +
                   ". The findings remain in memory; to save them to another file, use "
                   "watch.report().save().";
        });
        set_failure(format, failure);
        return false;
    }
    written_[format] = true;
    set_failure(format, "");
    return true;
}

void ReportWriter::set_failure(std::size_t format, std::string failure) {
    const std::lock_guard lock(mutex_);
    failures_[format] = std::move(failure);
}

// Reads paths_ without the lock, because only the writing thread changes it.
std::error_code ReportWriter::put(const std::string& text, std::size_t format) {
    const Existing existing = written_[format] ? Existing::replace : Existing::keep;
    std::error_code error = write_file(paths_[format], text, existing, Readers::owner);
    // A process with the same id in another container may have created the file in the meantime.
    for (int number = 2; error == std::errc::file_exists && number <= kMostNames; ++number) {
        std::string next = numbered(number, plan_.formats[format]);
        error = write_file(next, text, Existing::keep, Readers::owner);
        if (!error) {
            const std::lock_guard lock(mutex_);
            paths_[format] = std::move(next);
        }
    }
    return error;
}

std::vector<std::string> ReportWriter::take_problems() {
    const std::lock_guard lock(mutex_);
    return std::exchange(problems_, {});
}

}  // namespace cyclewatch::watch
