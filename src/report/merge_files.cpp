// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "report/merge.h"
#include "report/merger.h"

namespace cyclewatch::report {

using model::ProgramInfo;
using model::Report;

namespace {

// Lets threads continue in the order of their numbers.
class Turns {
  public:
    // Returns false after fail().
    bool wait_for(std::size_t number) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return failed_ || next_ == number; });
        return !failed_;
    }

    void end_turn() {
        const std::lock_guard lock(mutex_);
        ++next_;
        changed_.notify_all();
    }

    void fail(std::exception_ptr error = nullptr) {
        const std::lock_guard lock(mutex_);
        failed_ = true;
        error_ = error ? std::move(error) : error_;
        changed_.notify_all();
    }

    // After all threads have ended. Throws the error of fail().
    [[nodiscard]] bool failed() const {
        if (error_) {
            std::rethrow_exception(error_);
        }
        return failed_;
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::size_t next_ = 0;
    bool failed_ = false;
    std::exception_ptr error_;
};

void run_in_threads(std::size_t threads, const std::function<void()>& work) {
    std::vector<std::jthread> others;
    try {
        while (others.size() + 1 < threads) {
            others.emplace_back(work);
        }
    } catch (const std::system_error&) {
        // The system allows no more threads: fewer do all the work.
    }
    work();
}

}  // namespace

std::optional<Report> merge_files(std::span<const Report* const> starts,
                                  const std::function<std::optional<Report>(std::size_t)>& load,
                                  std::size_t threads) {
    Sources sources;
    for (const Report* start : starts) {
        for (const ProgramInfo& process : start->processes) {
            sources.emplace(identity_of(process), start);
        }
    }
    Merger merger(sources);
    Turns turns;
    std::atomic<std::size_t> taken = 0;
    // The thread that reads a report also merges and frees it: the allocator would serialize
    // threads that free each other's memory.
    run_in_threads(threads, [&] {
        try {
            for (std::size_t at = taken++; at < starts.size(); at = taken++) {
                std::optional<Report> report = load(at);
                if (!report || report->processes != starts[at]->processes) {
                    turns.fail();
                }
                if (!turns.wait_for(at)) {
                    return;
                }
                merger.add(*std::move(report));
                turns.end_turn();
            }
        } catch (...) {
            turns.fail(std::current_exception());
        }
    });
    if (turns.failed()) {
        return std::nullopt;
    }
    return merger.finish();
}

}  // namespace cyclewatch::report
