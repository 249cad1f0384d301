// SPDX-License-Identifier: Apache-2.0
// A watch with its settings, its findings, its report file and its notifications.
//
// REQUIRES (every method of Watch): GIL held.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collector/heap_scan.h"
#include "device/device_selection.h"
#include "device/memory_sampler.h"
#include "device/step_sampler.h"
#include "model/observation.h"
#include "model/report.h"
#include "model/retention.h"
#include "report/growth_tracker.h"
#include "report/report_store.h"
#include "report/source_table.h"
#include "watch/allocations.h"
#include "watch/budget.h"
#include "watch/clock.h"
#include "watch/device_descriptions.h"
#include "watch/owner_census.h"
#include "watch/report_writer.h"
#include "watch/reported_storages.h"
#include "watch/stats_counter.h"

namespace cyclewatch::watch {

inline constexpr int kInfo = 20;     // logging.INFO
inline constexpr int kWarning = 30;  // logging.WARNING

// Callbacks to the user. Called on the main thread, outside collections, with the GIL held.
// Callbacks may run any Python code and must not throw.
struct Listeners {
    // Called for each new finding. `report_path` is "" if no report file is written.
    // `again` is true if the finding was reported before (Settings::repeat).
    std::function<void(const model::Finding&, const std::string& report_path, bool again)>
        on_finding;
    // Called for each collection that found unreachable owners, with a report of that collection.
    std::function<void(std::shared_ptr<const model::Report>)> on_report;
    // Reads the source code at locations ("path:line"). If `read_source` is null, reports contain
    // no source code.
    std::function<report::SourceLines(const std::vector<std::string>& locations)> read_source;
    // Looks up storages in torch's memory history.
    std::function<AllocationStacks(const std::vector<CollectedStorage>&)> find_allocations;
    // Returns the location at which automatic collection was switched off or objects were frozen,
    // such as "train.py:12 (gc.disable())"; "" if unknown.
    std::function<std::string(bool frozen)> find_switch;
    // `level` as in Python's logging.
    std::function<void(int level, const std::string& message)> on_log;
};

// A value of Settings::scan_every: scan in each step in which automatic collection is off or
// objects are frozen.
inline constexpr int kScanIfNotCollected = -1;

// The first and the last step.
struct StepRange {
    std::int64_t first = 0;
    std::int64_t last = 0;
};

// Validated settings of a watch.
struct Settings {
    device::DeviceSelection devices;
    std::vector<render::Format> formats;  // of the report; empty: no file is written
    std::string report_dir;               // absolute; created when needed, if missing at the start
    std::string report_name;              // without suffix; "": cyclewatch-<script>-<pid>
    bool replace_report = false;          // an existing file of that name may be replaced
    bool clean_report = false;            // write a report without findings when the watch stops
    bool is_worker = false;               // of multiprocessing: only if it is a rank of a job
    bool exit_scan = false;               // scan the whole heap when the watch finishes
    std::uint64_t min_bytes = 0;          // smaller findings are counted but not stored
    double budget = 0.01;                 // share of wall time
    bool capture_values = false;
    int scan_every = kScanIfNotCollected;  // steps between scans; 0: never
    int census_every = 0;                  // calls to step() between censuses; 0: never
    report::Repeat repeat = report::Repeat::doubled;
    // Collections, scans and censuses in other steps are ignored. nullopt: none are.
    std::optional<StepRange> steps;
    bool follow_steps = false;  // has the step number that the program sets for other watches
    Listeners listeners;
};

// Holds the findings of one collection until its notifications are delivered. In the meantime,
// allocation sites may still be added.
struct CollectionResult {
    std::vector<model::Finding> fresh;  // signatures seen for the first time
    std::vector<model::Finding> again;  // reported before, and due for another warning
    std::vector<model::Finding> found;  // all findings; empty without on_report
};

// Bytes of unreachable device memory that no earlier scan has found.
struct DeadBytes {
    std::uint64_t collectable = 0;
    std::uint64_t frozen = 0;
};

class KnownFindings;

class Watch : public std::enable_shared_from_this<Watch> {
  public:
    explicit Watch(Settings settings);
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;
    ~Watch();

    [[nodiscard]] const Settings& settings() const noexcept { return settings_; }
    [[nodiscard]] bool wants(std::string_view device, bool accelerator_usable) const;
    [[nodiscard]] double seconds_since_start(Clock::time_point now) const;
    // The depth that the budget allows for a collection that found `unreachable` objects.
    [[nodiscard]] Depth depth(Clock::time_point now, std::uint64_t unreachable);
    // False if another search like the last one would exceed the budget.
    [[nodiscard]] bool may_search(Clock::time_point now) const;

    void count(const CollectionCost& cost);
    void skip(const std::string& reason, std::uint64_t times = 1);

    // Sets the program's step number, which is recorded with each collection (-1 before the first
    // call).
    void set_step(std::int64_t step) noexcept {
        note_step(step);
        ++steps_;
    }
    // Sets the step number only, without counting a call to step().
    void note_step(std::int64_t step) noexcept;
    // False if the step is not in Settings::steps.
    [[nodiscard]] bool observes(std::int64_t step) const noexcept {
        return !settings_.steps ||
               (settings_.steps->first <= step && step <= settings_.steps->last);
    }
    [[nodiscard]] bool observes_step() const noexcept { return observes(step_); }
    // The scope of the scan that is due in this step, if any. Scans with frozen objects and scans
    // without them each take at most the fraction `settings().budget` of wall time.
    [[nodiscard]] std::optional<collector::HeapScope> due_scan(Clock::time_point now);
    // True while automatic collection is off or objects are frozen.
    [[nodiscard]] static bool is_not_collected();
    // Call this after a scan. Schedules the next scan, and logs a warning when unreachable memory
    // is found for the first time.
    void scanned(collector::HeapScope scope, Clock::time_point began, const DeadBytes& dead);
    [[nodiscard]] std::int64_t step() const noexcept { return step_; }

    // True if a census is due after this call to step().
    [[nodiscard]] bool is_census_due() const noexcept {
        return settings_.census_every > 0 && steps_ % settings_.census_every == 0;
    }
    // If another census would exceed the budget, returns false and counts the census as skipped.
    [[nodiscard]] bool can_afford_census(Clock::time_point now);
    // Adds the counters of the watched devices to the report if a sample is due.
    void sample_step(Clock::time_point now);
    // Adds samples of the memory in use to the report, until the end of the watch. Idempotent.
    void sample_usage();
    // Adds an account of the memory in use to the report. Sets its process, time and step.
    void add_account(model::MemoryAccount account);
    // Adds a census of the watched devices, and logs the groups of tensors that have begun to grow.
    void add_census(const LiveGroups& found, Clock::time_point began);
    // The sizes in the last census, of all watched devices together.
    [[nodiscard]] const std::optional<model::CategorySizes>& census_sizes() const noexcept {
        return census_sizes_;
    }

    // Stores the classified findings of one collection, and schedules a write of the report file.
    // `dead`: storages of these findings. `repeated`: as in ReportStore::add().
    [[nodiscard]] std::shared_ptr<CollectionResult> add(const model::CollectionRecord& record,
                                                        std::vector<model::Finding> findings,
                                                        std::vector<report::DeadStorage> dead,
                                                        bool repeated);
    // Queues the calls to on_finding and on_report.
    void notify(const model::CollectionRecord& record,
                const std::shared_ptr<CollectionResult>& result);

    // Queues a description of the CUDA devices on which this collection found unreachable storages,
    // unless the report already has one from a collection that found more. `cuda_error`: the error
    // that was pending before the collection, or 0.
    void describe_devices(const model::Observation& observation, int cuda_error);

    // Measures what the memory of the described CUDA devices is used for now. REQUIRES: no Python
    // exception pending, no collection in progress. RUNS PYTHON: never.
    void measure_devices();

    // The storages that the scans of this watch have reported.
    [[nodiscard]] ReportedStorages& reported() noexcept { return reported_; }
    [[nodiscard]] const ReportedStorages& reported() const noexcept { return reported_; }
    // The findings of this watch's earlier collections.
    [[nodiscard]] KnownFindings& known() noexcept { return *known_; }
    [[nodiscard]] const KnownFindings& known() const noexcept { return *known_; }
    // Forgets the storages that were freed since they were reported, and updates their findings.
    // `by` is the current collection if it has freed these storages; otherwise null.
    void forget_freed_storages(const model::CollectionRecord* by = nullptr);

    // Applies `change` to all stored findings (ReportStore::revise).
    void revise(const std::function<void(model::Finding&)>& change);

    // Reads the source code at the locations of new findings. Reading source code creates objects
    // in the watched program, so a watch without callbacks or report files reads source code only
    // for report(). RUNS PYTHON: yes. May leave an exception pending.
    void read_source();

    [[nodiscard]] model::Report report() const;
    [[nodiscard]] model::Stats stats() const { return counter_->stats(); }
    [[nodiscard]] std::vector<std::string> report_paths() const;
    [[nodiscard]] std::vector<std::string> report_failures() const;

    void set_suspected(std::uint64_t bytes);  // Stats::suspected_bytes; 0: none
    // Queues a log message, and adds it to the notes of the report.
    void log(int level, const std::string& sentence);
    // Like log(), but replaces the note of the same `topic`. An empty sentence only removes it.
    void log_state(int level, const std::string& topic, const std::string& sentence);
    // Logs the new errors of the report writer.
    void log_write_failures();
    // Waits up to `seconds` for the report file, with the GIL released.
    void flush(double seconds);

    // Records in the report what nothing has examined when the watch ends.
    void end();
    // Creates the report file if there is none yet and `Settings::clean_report` is set, and if the
    // name of the file was chosen or this process is a rank of a job. A worker must have joined it.
    void write_clean_report();
    // Whether a forked process may be scanned when its watch finishes: the first children of a
    // process always, the others within the budget. `child`: the number of this child. `objects`:
    // how many it inherited.
    [[nodiscard]] bool may_scan_at_end(unsigned child, std::size_t objects) const;
    // The same at the start, if the name of the file is known, so that the report can be followed.
    void begin_report();
    // Records that a scan examined `scope` only, in a watch that exists for this scan.
    void end_scan(collector::HeapScope scope);
    // The same for a search for never freed memory.
    void end_search();
    // Logs each of these sentences once.
    void note_failures(const std::vector<std::string>& sentences);

    // Discards the findings and chooses another report file. Call this in a forked child. `fork` is
    // the number of forks so far. Further calls with the same number have no effect.
    void start_over(unsigned fork);

  private:
    void open_store();
    // The objects that nothing has examined; "" if there are none.
    [[nodiscard]] const char* unexamined() const;
    void open_writer();
    // The rank may have become known.
    void update_rank() const;
    void project_growth(std::vector<model::GrowingOwner>& growing);
    [[nodiscard]] std::vector<model::Finding> large_enough(std::vector<model::Finding> findings);
    // Queues a warning that also shows, if known, where automatic collection was switched off or,
    // if `frozen` is true, where objects were frozen.
    void warn_not_collected(std::string sentences, bool frozen);
    // forget_freed_storages() without the record. Returns the size of the storages in bytes.
    std::uint64_t forget_reported();
    void enqueue(std::function<void()> notification);
    void pass_to_listener(int level, const std::string& sentence);
    void note_locations(const std::vector<model::Finding>& findings);
    void notify_findings(const std::shared_ptr<CollectionResult>& result);
    void notify_report(const model::CollectionRecord& record,
                       const std::shared_ptr<CollectionResult>& result);

    Settings settings_;
    // A directory that the program removes is not created again.
    bool directory_existed_;
    Budget budget_;
    model::ProgramInfo program_;
    std::int64_t step_ = -1;
    bool reached_steps_ = false;  // the program was in one of Settings::steps
    std::int64_t steps_ = 0;      // number of calls to step()
    double census_seconds_ = 0;   // of the last census
    std::optional<model::CategorySizes> census_sizes_;
    report::GrowthTracker growth_;
    device::MemorySampler memory_;
    device::StepSampler step_sampler_;
    Clock::time_point next_sample_write_{};
    bool samples_usage_ = false;
    DeviceDescriptions device_descriptions_;
    ReportedStorages reported_;
    std::unique_ptr<KnownFindings> known_;
    double young_scan_seconds_ = 0;  // spent on scans in steps, without frozen objects
    Clock::time_point next_frozen_scan_;
    // The steps of the last scan and of the last scan that included frozen objects.
    std::int64_t scanned_step_ = -1;
    std::int64_t scanned_frozen_step_ = -1;
    // What has examined all objects that are unreachable now, if nothing happened since.
    enum class Examined : std::uint8_t { nothing, collected, scanned };
    Examined examined_ = Examined::nothing;
    bool logged_dead_ = false;
    bool logged_frozen_ = false;
    std::set<std::string> logged_failures_;
    unsigned fork_ = 0;  // the last argument of start_over()
    std::shared_ptr<StatsCounter> counter_;
    std::shared_ptr<report::ReportStore> store_;
    std::set<std::string> located_;         // all locations
    std::vector<std::string> unread_;       // those whose source has not been read
    std::vector<std::string> claimed_;      // entries in claimed_files()
    std::shared_ptr<ReportWriter> writer_;  // null: nothing to write yet, or no formats
};

}  // namespace cyclewatch::watch
