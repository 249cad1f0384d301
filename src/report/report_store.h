// SPDX-License-Identifier: Apache-2.0
// Stores the findings and collection records of one watch. The memory use of a store is bounded;
// ten thousand equal leaks become one finding. Thread-safe; never calls Python.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "model/finding.h"
#include "model/observation.h"
#include "model/report.h"
#include "report/address_list.h"
#include "report/merge.h"
#include "report/source_table.h"
#include "report/step_pauses.h"
#include "report/timeline.h"

namespace cyclewatch::report {

inline constexpr std::size_t kMaxFindings = 1000;  // a note in the report counts the rest
inline constexpr std::size_t kMaxNotes = 100;
inline constexpr std::size_t kMaxStepSamples = 500;  // per device
inline constexpr std::size_t kMaxStepDevices = 16;
inline constexpr std::size_t kMaxUsageRows = 600;   // per device
inline constexpr std::size_t kFewestUsageRows = 5;  // fewer are not in the report

// The note for a report from which `number` findings were omitted.
[[nodiscard]] std::string not_kept_note(const std::string& number);

// The result of ReportStore::add().
struct Added {
    std::vector<model::Finding> fresh;  // new findings, as stored
    std::vector<model::Finding> seen;   // merged state of findings seen before, unless `repeated`
    // Merged state of findings seen before that are due for another warning.
    std::vector<model::Finding> again;
};

// When a finding that was seen before is due for another warning: once its bytes have doubled since
// the last warning, or each time.
enum class Repeat : std::uint8_t { doubled, each };

class ReportStore {
  public:
    ReportStore(model::ProgramInfo program, std::vector<std::string> devices)
        : program_(std::move(program)), devices_(std::move(devices)) {}

    // Merges the findings of one collection, and stores the collection's record if the collection
    // found tensor owners. A finding with the same cause as a stored finding is merged into the
    // stored finding, which keeps its signature. `repeated`: true if an earlier call, possibly on
    // another store, passed findings that differ from these only in their counts and bytes.
    // Repeated findings are not indexed again, and Added::seen is empty. `of_scans`: the bytes that
    // the collection has freed in addition, which scans had found.
    Added add(const model::CollectionRecord& record,
              std::vector<model::Finding> findings,
              bool repeated = false,
              Repeat repeat = Repeat::doubled,
              std::uint64_t of_scans = 0);

    // Stores the record of a collection that found no tensor owners, but freed those of scans.
    void add_collection(const model::CollectionRecord& record);

    // Adds storages of the findings of one search.
    void add_dead(std::vector<DeadStorage> storages);
    // DeadStorages::update()
    void update_dead(const std::function<bool(const std::string& device, std::uint64_t)>& exists,
                     double now);

    // Calls `change` on every finding while holding the lock. `change` must not change signatures
    // or byte counts, and must not call the store.
    void revise(const std::function<void(model::Finding&)>& change);

    // Adds source code to all later snapshots.
    void add_source(SourceLines lines);
    // Adds the known source code to a copy of a finding.
    void fill_source(model::Finding& finding) const;

    // Adds a sentence to the report's notes. Idempotent.
    void note(const std::string& sentence);
    // Replaces the note of the same topic, which describes a state. An empty sentence removes it.
    void set_note(const std::string& topic, const std::string& sentence);

    // Replaces the results of the last census, which was taken at `time`, and adds its sizes by
    // category to the steps. `owners`: all groups, the largest first; `most` of them are stored.
    void set_census(std::vector<model::GrowingOwner> growing,
                    std::span<const model::LiveOwner> owners,
                    std::size_t most,
                    model::CensusTime time);

    // Adds an account, or replaces the account of the same device and occasion.
    void set_account(model::MemoryAccount account);

    // Adds the counters of a device in one step. `sample.number` is set by the store.
    void add_sample(const std::string& device, model::StepSample sample);

    // Sets the step of the next collections. `at`: seconds since the watch started.
    void begin_step(std::int64_t step, double at);
    // Adds a collection in this step.
    void add_pause(double seconds, std::uint64_t freed_bytes);

    // Adds the bytes in use on a device at a time, in seconds since the watch started. A `source`
    // other than that of the earlier samples replaces them.
    void add_usage(const std::string& device,
                   const std::string& source,
                   double at,
                   std::uint64_t bytes);

    // Sets ProgramInfo::rank and ProgramInfo::world_size.
    void set_rank(int rank, std::optional<int> world_size);
    // Sets ProgramInfo::elapsed, which otherwise is Stats::elapsed of each report.
    void set_elapsed(double seconds);
    // Sets ProgramInfo::unexamined.
    void set_unexamined(std::string objects);

    // Adds a device, or replaces the record of the same device.
    void set_device(model::DeviceRecord record);

    // Returns a consistent copy of the report. The report contains `stats`, with Stats::findings
    // set by the store.
    [[nodiscard]] model::Report snapshot(const model::Stats& stats) const;

  private:
    // A device over the steps.
    struct Steps {
        StepSamples samples{kMaxStepSamples};
        CensusSamples censuses{kMaxStepSamples};
    };

    void add_categories(std::span<const model::LiveOwner> owners, model::CensusTime time);
    [[nodiscard]] std::optional<std::vector<model::StorageAddresses>> addresses() const;
    void count_not_kept(const std::string& signature);

    mutable std::mutex mutex_;
    model::ProgramInfo program_;
    std::vector<std::string> devices_;
    std::vector<model::Finding> findings_;  // in order of appearance
    std::vector<std::uint64_t> warned_at_;  // per finding: its bytes at the last warning
    MistakeIndex index_;                    // into findings_
    std::set<std::string> not_kept_;        // signatures beyond the limit
    bool more_not_kept_ = false;            // not_kept_ is full as well
    std::uint64_t retained_bytes_ = 0;
    Timeline collections_{model::kMaxCollectionRecords};
    SourceTable source_;
    std::optional<std::vector<model::GrowingOwner>> growing_;
    std::optional<std::vector<model::LiveOwner>> live_owners_;
    std::map<std::string, model::DeviceRecord> device_records_;  // by device
    std::optional<std::vector<model::CensusTime>> censuses_;
    std::map<std::pair<std::string, model::AccountOccasion>, model::MemoryAccount> accounts_;
    std::map<std::string, Steps> steps_;         // by device
    std::map<std::string, UsageSamples> usage_;  // by device
    StepPauses pauses_;
    DeadStorages dead_;
    std::vector<std::string> notes_;
    std::map<std::string, std::string> state_notes_;  // by topic
};

}  // namespace cyclewatch::report
