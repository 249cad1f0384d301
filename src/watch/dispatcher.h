// SPDX-License-Identifier: Apache-2.0
// Manages all watches. The dispatcher starts and stops watches, installs their shared hook, handles
// forks, and passes each collection to the pipeline.
//
// REQUIRES (everything here): GIL held.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "advice/rules.h"
#include "base/result.h"
#include "collector/collection_listener.h"
#include "collector/heap_scan.h"
#include "model/report.h"
#include "retention/why_alive.h"
#include "watch/heap_searches.h"
#include "watch/owner_census.h"
#include "watch/pipeline.h"
#include "watch/reported_storages.h"
#include "watch/stages.h"
#include "watch/watch.h"

namespace cyclewatch::watch {

// A report about one scan, and the storages of its findings.
struct ScanResult {
    model::Report report;
    std::vector<ReportedStorage> storages;
};

// The memory that dead cycles use, that no collection frees, and that is in use.
struct MemoryUse {
    model::Report dead;
    model::Report never_freed;
    LiveGroups live;
};

class Dispatcher final : public collector::CollectionListener {
  public:
    static Dispatcher& instance();

    // Starts a watch, and installs the hook if no other watch is active. The error message is a
    // sentence for the user.
    base::Result<std::shared_ptr<Watch>> start(Settings settings);
    // Stops `watch`, writes a report without findings if `Settings::clean_report` is set, delivers
    // queued notifications, and waits for the report file of `watch`. Removes the hook if no other
    // watch is active. Idempotent. May leave a Python exception pending.
    void stop(const std::shared_ptr<Watch>& watch);
    // Scans the whole heap if `Settings::exit_scan` is set and Watch::may_scan_at_end(). The
    // requirements of scan() apply.
    void scan_at_end(const std::shared_ptr<Watch>& watch);
    // Scans the whole heap, so that the report of the watch contains all that is unreachable now.
    // The requirements of scan() apply.
    void scan_all(const std::shared_ptr<Watch>& watch);
    // scan_at_end() and stop() for all watches. Call this at interpreter exit. If another thread
    // starts a watch afterwards, that watch is inactive, because nothing would wait for its report.
    void end();
    [[nodiscard]] bool is_active(const std::shared_ptr<Watch>& watch) const;

    // Sets the step. Takes a census if one is due, and scans the heap if a scan is due. A failed
    // scan is counted as skipped. RUNS PYTHON: readers passed to register_owner().
    void step(const std::shared_ptr<Watch>& watch, std::int64_t number);
    // Sets the step of all watches, without a census or a scan. `counted`: not set by the program,
    // but by cyclewatch; ignored once the program has set a step.
    void note_step(std::int64_t number, bool counted);
    // Scans if automatic collection is off or objects are frozen. Does not change the step number.
    void scan_if_not_collected(const std::shared_ptr<Watch>& watch);

    // Takes a census of the reachable owners if the budget allows, and compares it with earlier
    // censuses. Skips the census if memory runs out. RUNS PYTHON: readers passed to
    // register_owner().
    void take_census(const std::shared_ptr<Watch>& watch);

    // Finds the owners that are unreachable now, without a collection (HeapSearches::scan()), and
    // what only their autograd graphs keep. No watch needs to be active. Only `settings.devices` is
    // used. Propagates the exceptions of HeapSearches::scan().
    ScanResult scan(Settings settings, collector::HeapScope scope);
    // Calls never_freed() with `settle` 0, scan() of all objects without the cycles through NumPy
    // arrays, and live_owners() without the storages of the cycles that no collection frees, but
    // examines the heap less often. Without `layout`, which free-threaded builds do not support,
    // omits never_freed(). Propagates their exceptions.
    MemoryUse memory_use(const Settings& settings,
                         CensusSettings census,
                         const device::TorchLayout* layout);
    // Finds the owners that no collection can free (HeapSearches::find_never_freed()). `failures`:
    // notes about references that `layout` lacks. `known`: storages to omit, to which the search
    // adds those that it reports.
    model::Report never_freed(Settings settings,
                              const device::TorchLayout& layout,
                              const std::vector<std::string>& failures,
                              int settle,
                              ReportedStorages& known);
    // The same without known storages, and if nothing is found or suspected, the reachable owners
    // (watch::live_owners()). Takes less time than both, one after the other.
    std::pair<model::Report, LiveGroups> never_freed_or_live(
        Settings settings,
        const device::TorchLayout& layout,
        const std::vector<std::string>& failures,
        int settle,
        const CensusSettings& census);
    // Like never_freed(), in a watch. Does nothing if the watch is not active or does not observe
    // this step.
    void find_never_freed(const std::shared_ptr<Watch>& watch,
                          const device::TorchLayout& layout,
                          const std::vector<std::string>& failures,
                          int settle);
    std::map<std::string, std::uint64_t> dead_bytes(Settings settings,
                                                    collector::HeapScope scope,
                                                    bool with_unexplained);

    // Finds the paths to the only item of the list `box`. Calls retention::why_alive() and
    // propagates its exceptions.
    retention::WhyAlive why_alive(PyObject* box,
                                  std::size_t paths,
                                  retention::CallerVariables caller,
                                  const device::TorchLayout* layout);

    // Calls watch::live_owners() and propagates its exceptions.
    LiveGroups live_owners(const CensusSettings& settings);
    // Calls watch::owned_storages() and propagates its exceptions.
    std::vector<OwnedStorage> owned_storages(const CensusSettings& settings);
    ReportedStorages live_storages(const device::DeviceSelection& devices);

    // Call this before reading the state of `watch`. Handles a fork, restores a removed hook and
    // delivers queued notifications. May leave a Python exception pending.
    void refresh(const std::shared_ptr<Watch>& watch);

    device::OwnerRegistry& registry() { return stages_.registry; }
    advice::Rules& rules() { return stages_.rules; }
    // Updates the patterns and statuses of the active watches' findings. Call this after the rules
    // have changed.
    void reclassify();

    // Call these when the process forks; the second one in the child, before its code runs.
    void before_fork() noexcept { ++children_; }
    void after_fork_in_child();

    void on_start(int generation) noexcept override;
    [[nodiscard]] bool wants_unreachable() noexcept override;
    void on_unreachable(const collector::UnreachableSet& unreachable) noexcept override;
    void on_stop(const collector::CollectionOutcome& outcome) noexcept override;

  private:
    Dispatcher() = default;
    void handle_fork();
    void update_observing();
    // Call this before the step of `stepped` (null: of all watches) becomes `number`. Scans for the
    // watches whose observed steps end with that, if they scan at exit.
    void scan_before_leaving_steps(std::int64_t number, const Watch* stepped);
    void report_resurrected();
    void prepare_heap_walk();
    // Creates a watch for one scan.
    std::shared_ptr<Watch> prepare_scan(Settings settings);
    // never_freed() and never_freed_or_live(). `known` and `live` may be null.
    model::Report search_never_freed(Settings settings,
                                     const device::TorchLayout& layout,
                                     const std::vector<std::string>& failures,
                                     int settle,
                                     ReportedStorages* known,
                                     LiveOwners* live);
    void sample_step(const std::shared_ptr<Watch>& watch);
    void scan_now(const std::shared_ptr<Watch>& watch,
                  std::optional<collector::HeapScope> scope,
                  Clock::time_point began,
                  bool reads_graphs = false);
    [[nodiscard]] bool is_ending() const;
    // True if the current collection began before the fork that created this process. The parent
    // process reports that collection. In this process, the report writer's locks may be held by
    // threads that no longer exist.
    [[nodiscard]] bool is_inherited() noexcept;

    Watches watches_;
    Watches observing_;  // those that observe the current step
    bool program_sets_steps_ = false;
    Stages stages_;
    Pipeline pipeline_{stages_};
    HeapSearches searches_{stages_};
    bool inherited_ = false;
    unsigned handled_forks_ = 0;
    unsigned children_ = 0;          // that this process has forked, or the last one of its parent
    unsigned child_ = 0;             // the number of this process among the children of its parent
    std::thread::id ending_thread_;  // the thread that called end()
};

}  // namespace cyclewatch::watch
