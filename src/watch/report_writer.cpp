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

#include "base/signals_blocked.h"
#include "watch/atomic_file.h"

namespace cyclewatch::watch {
namespace {

// After the plain name come -2, -3 ... up to this.
constexpr int kMostNames = 999;

std::string temporary_directory() {
    const char* wish = std::getenv("TMPDIR");
    return wish != nullptr && *wish != '\0' ? wish : "/tmp";
}

bool writable(const std::string& directory) {
    return ::access(directory.empty() ? "." : directory.c_str(), W_OK | X_OK) == 0;
}

std::string suffix_of(const std::string& format) {
    return format == "text" ? ".txt" : "." + format;
}

// Absolute, so that a program that changes its directory later still writes to the same file.
std::string absolute(std::string directory) {
    if (directory == "." || directory.starts_with("./")) {
        directory.erase(0, 2);
    }
    if (!directory.empty() && directory.front() == '/') {
        return directory;
    }
    char* const here = ::getcwd(nullptr, 0);
    std::string path = here != nullptr ? here : ".";
    std::free(here);
    return directory.empty() ? path : path + "/" + directory;
}

}  // namespace

template <typename Sentence>
void ReportWriter::problem(const Sentence& sentence) noexcept {
    try {
        const std::string words = sentence();
        const std::lock_guard lock(mutex_);
        if (std::ranges::find(told_, words) == told_.end() && told_.size() < 16) {
            told_.push_back(words);
            problems_.push_back(words);
        }
    } catch (const std::bad_alloc&) {
        // No memory to say so either.
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
    if (!plan_.directory.empty() && plan_.may_make_directory) {
        std::error_code ignored;  // writable() tells
        std::filesystem::create_directories(plan_.directory, ignored);
    }
    if (!writable(plan_.directory)) {
        const std::string wanted = absolute(plan_.directory);
        plan_.directory = temporary_directory();
        problem([&] {
            return "cyclewatch cannot write to " + wanted + " and writes its report to " +
                   plan_.directory + " instead.";
        });
    }
    plan_.directory = absolute(plan_.directory);
}

std::string ReportWriter::numbered(int number, const std::string& format) const {
    const std::string mark = number == 1 ? "" : "-" + std::to_string(number);
    return plan_.directory + "/" + plan_.stem + mark + suffix_of(format);
}

void ReportWriter::choose_names() {
    // An older process of the same id may have left its report here: that stays.
    const auto taken = [&](int number) {
        return !plan_.replace && std::ranges::any_of(plan_.formats, [&](const std::string& format) {
            const std::string path = numbered(number, format);
            struct stat status {};
            return (plan_.reserved && plan_.reserved(path)) || ::lstat(path.c_str(), &status) == 0;
        });
    };
    int number = 1;
    while (number < kMostNames && taken(number)) {
        ++number;
    }
    for (const std::string& format : plan_.formats) {
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
        wake_.notify_all();
        return;
    }
    try {
        const base::SignalsBlocked blocked;
        std::thread([self = shared_from_this()] { self->run(); }).detach();
        running_ = true;
    } catch (...) {
        // No thread to be had: flush() writes what is left.
    }
}

void ReportWriter::run() noexcept {
    std::unique_lock lock(mutex_);
    while (dirty_) {
        wake_.wait_until(lock, quiet_until_, [this] { return soon_ || flushing_ > 0; });
        write_unlocked(lock);
        quiet_until_ = std::chrono::steady_clock::now() + plan_.quiet_period;
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
    // Without a thread, or with a disk that was full and may have room again, it falls to us.
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
        problem([&] {
            return std::string("cyclewatch could not make its report: ") + error.what() + ".";
        });
        return false;
    }
}

bool ReportWriter::write_one(const model::Report& report, std::size_t format) {
    const base::Result<std::string> text = plan_.render(report, plan_.formats[format]);
    if (!text.ok()) {
        problem([&] { return text.error(); });
        return false;
    }
    const std::error_code error = put(text.value(), format);
    if (error) {
        const std::string failure =
            "cyclewatch could not write " + paths_[format] + ": " + error.message();
        problem([&] {
            return failure +
                   ". The findings are kept in memory, for the next report; watch.report().save() "
                   "puts them elsewhere.";
        });
        note(format, failure);
        return false;
    }
    written_[format] = true;
    note(format, "");
    return true;
}

void ReportWriter::note(std::size_t format, std::string failure) {
    const std::lock_guard lock(mutex_);
    failures_[format] = std::move(failure);
}

// Only whoever writes changes a path, so it reads it without the lock.
std::error_code ReportWriter::put(const std::string& text, std::size_t format) {
    const Existing existing = written_[format] ? Existing::replace : Existing::keep;
    std::error_code error = write_file(paths_[format], text, existing, Readers::owner);
    // A process of the same id, in another container, came first since the name was chosen.
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
