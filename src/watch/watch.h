// SPDX-License-Identifier: Apache-2.0
// One watch: what its user asked for, what it has found, and how it tells.
//
// REQUIRES (every method of Watch): GIL held.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "model/observation.h"
#include "model/report.h"
#include "report/report_store.h"
#include "watch/budget.h"
#include "watch/report_writer.h"
#include "watch/settings.h"

namespace cyclewatch::watch {

using Clock = std::chrono::steady_clock;  // never goes backwards

// What one collection cost and touched, for the statistics of every watch.
struct CollectionCost {
    std::uint64_t unreachable = 0;  // objects
    double own_seconds = 0;
    double collection_seconds = 0;
};

// The figures of one watch. Shared with the report writer's thread, which must never hold a
// Watch: the last reference to one frees Python objects and so needs the GIL.
class StatsCounter {
  public:
    void count(const CollectionCost& cost);
    void skip(const std::string& reason, std::uint64_t times);
    void add_owners(std::uint64_t owners, std::uint64_t fresh_findings);
    [[nodiscard]] model::Stats stats() const;
    [[nodiscard]] Clock::time_point started() const noexcept { return started_; }

  private:
    const Clock::time_point started_ = Clock::now();
    mutable std::mutex mutex_;
    model::Stats stats_;
};

// What a collection has brought, on its way to the user: what is learnt of it until it is told
// may still be added.
struct CollectionResult {
    std::vector<model::Finding> fresh;  // signatures seen for the first time
    std::vector<model::Finding> found;  // all of that collection, if somebody wants to hear of it
};

class Watch : public std::enable_shared_from_this<Watch> {
  public:
    // `render` turns a report into text of a format (see ReportWriter).
    Watch(Settings settings, ReportWriter::Render render);
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;
    ~Watch();  // REQUIRES: the GIL

    [[nodiscard]] const Settings& settings() const noexcept { return settings_; }
    [[nodiscard]] bool wants(std::string_view device, bool accelerator_usable) const;
    [[nodiscard]] double seconds_since_start(Clock::time_point now) const;
    [[nodiscard]] Depth depth(Clock::time_point now) const;

    void count(const CollectionCost& cost) { counter_->count(cost); }
    void skip(const std::string& reason, std::uint64_t times = 1);

    // The program's own count of what it is at; -1: it never told. Collections are stamped with it.
    void set_step(std::int64_t step) noexcept { step_ = step; }
    [[nodiscard]] std::int64_t step() const noexcept { return step_; }

    // Takes in what one collection found. `findings` are those of `record`'s collection, analysed
    // and judged.
    [[nodiscard]] std::shared_ptr<CollectionResult> add(const model::CollectionRecord& record,
                                                        std::vector<model::Finding> findings);
    // Tells whoever listens, soon; of findings that are no news on_finding is not told.
    void notify(const model::CollectionRecord& record,
                const std::shared_ptr<CollectionResult>& result);

    // Lets `change` have every finding so far (ReportStore::revise).
    void revise(const std::function<void(model::Finding&)>& change);

    [[nodiscard]] model::Report report() const;
    [[nodiscard]] model::Stats stats() const { return counter_->stats(); }
    [[nodiscard]] std::vector<std::string> report_paths() const;
    [[nodiscard]] std::vector<std::string> report_failures() const;

    // Says `sentence` through the log and keeps it in the report's notes.
    void log(int level, const std::string& sentence);
    // Passes on what the report writer could not do.
    void log_write_failures();
    // Waits for the report file, at most `seconds`; lets other threads run meanwhile.
    void flush(double seconds);

    // In a forked child: empty, with the child's own process id and report file. `fork` tells this
    // fork from others: a second call for the same one does nothing.
    void start_over(unsigned fork);

  private:
    void open_store();
    void open_writer();
    [[nodiscard]] std::vector<model::Finding> large_enough(std::vector<model::Finding> findings);
    void enqueue(std::function<void()> notice);
    void notify_findings(const std::shared_ptr<CollectionResult>& result);
    void notify_report(const model::CollectionRecord& record,
                       const std::shared_ptr<CollectionResult>& result);

    Settings settings_;
    ReportWriter::Render render_;
    model::ProgramInfo program_;
    std::int64_t step_ = -1;
    unsigned fork_ = 0;  // the last that start_over() was called for
    std::shared_ptr<StatsCounter> counter_;
    std::shared_ptr<report::ReportStore> store_;
    std::vector<std::string> claimed_;      // files that no other watch of this process may choose
    std::shared_ptr<ReportWriter> writer_;  // null: nothing to write, or no file was asked for
};

}  // namespace cyclewatch::watch
