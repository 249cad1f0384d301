// SPDX-License-Identifier: Apache-2.0
#include "report/merge_reports.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "report/merge.h"
#include "report/mistake_index.h"
#include "report/report_store.h"
#include "report/timeline.h"

namespace cyclewatch::report {
namespace {

using model::ProgramInfo;
using model::Report;

// What tells two processes apart, in the order in which they stand. The rank is part of it:
// containers that start together give the same process ids at the same second.
using Identity = std::tuple<int, std::int64_t, std::string, std::string>;

Identity identity(const ProgramInfo& process) {
    return {process.rank, process.pid, process.started_at, process.script};
}

// Which report speaks for each process.
using Speakers = std::map<Identity, const Report*>;

bool speaks(const Report* report, const Speakers& speakers) {
    return std::any_of(speakers.begin(), speakers.end(), [report](const auto& entry) {
        return entry.second == report;
    });
}

// Lets `report` speak for its processes, or not, given those considered before, all of as many
// processes or fewer. False if it shares processes with one that has others of its own too.
bool consider(const Report& report, Speakers& speakers) {
    std::set<const Report*> rivals;
    std::size_t contested = 0;
    for (const ProgramInfo& process : report.processes) {
        if (const auto found = speakers.find(identity(process)); found != speakers.end()) {
            rivals.insert(found->second);
            ++contested;
        }
    }
    if (!rivals.empty() && contested == report.processes.size()) {
        const Report* rival = *rivals.begin();
        const bool same_processes =
            rivals.size() == 1 && rival->processes.size() == report.processes.size();
        if (!same_processes || rival->stats.elapsed >= report.stats.elapsed) {
            return true;
        }
    }
    for (const ProgramInfo& process : report.processes) {
        speakers[identity(process)] = &report;
    }
    return std::none_of(rivals.begin(), rivals.end(), [&speakers](const Report* rival) {
        return speaks(rival, speakers);
    });
}

base::Result<Speakers> choose(std::span<const Report* const> reports) {
    std::vector<const Report*> order(reports.begin(), reports.end());
    std::stable_sort(order.begin(), order.end(), [](const Report* a, const Report* b) {
        return a->processes.size() < b->processes.size();
    });
    Speakers speakers;
    for (const Report* report : order) {
        if (!consider(*report, speakers)) {
            return base::Error{
                "two of the reports were merged from others and have only some of their "
                "processes in common: merge the reports they were made from instead"};
        }
    }
    return speakers;
}

// Takes in one report after the other.
class Merger {
  public:
    explicit Merger(const Speakers& speakers)
        : lines_(speakers.size(), Timeline(records_each(speakers.size()))) {
        for (const auto& [process, speaker] : speakers) {
            index_.emplace(process, static_cast<std::uint32_t>(index_.size()));
        }
        merged_.processes.resize(speakers.size());
    }

    void add(const Report& report) {
        std::vector<std::uint32_t> place;
        for (const ProgramInfo& process : report.processes) {
            place.push_back(index_.at(identity(process)));
            merged_.processes[place.back()] = process;
        }
        for (const model::Finding& finding : report.findings) {
            add_finding(finding, place);
        }
        for (model::CollectionRecord record : report.collections) {
            record.process = place[record.process];
            rename_parts(record);
            lines_[record.process].add(record);
        }
        for (const std::string& device : report.devices) {
            add_once(merged_.devices, device);
        }
        for (const std::string& note : report.notes) {
            add_once(merged_.notes, note);
        }
        merged_.retained_bytes += report.retained_bytes;
        merged_.omitted_collections += report.omitted_collections;
        add_stats(report.stats);
    }

    Report finish() {
        for (const Timeline& line : lines_) {
            const std::vector<model::CollectionRecord> records = line.records();
            merged_.collections.insert(merged_.collections.end(), records.begin(), records.end());
            merged_.omitted_collections += line.omitted();
        }
        sort_largest_first(merged_.findings);
        merged_.stats.findings = merged_.findings.size();
        merged_.notes.resize(std::min(merged_.notes.size(), kMaxNotes));
        if (merged_.findings.size() > kMaxFindings) {
            merged_.notes.push_back(
                not_kept_note(std::to_string(merged_.findings.size() - kMaxFindings)));
            merged_.findings.resize(kMaxFindings);
        }
        return std::move(merged_);
    }

  private:
    static std::size_t records_each(std::size_t processes) {
        return std::clamp<std::size_t>(
            kMaxMergedRecords / processes, 2, model::kMaxCollectionRecords);
    }

    static void add_once(std::vector<std::string>& words, const std::string& word) {
        if (std::find(words.begin(), words.end(), word) == words.end()) {
            words.push_back(word);
        }
    }

    void add_finding(model::Finding finding, const std::vector<std::uint32_t>& place) {
        for (model::ProcessOccurrences& occurrences : finding.by_process) {
            occurrences.process = place[occurrences.process];
        }
        const std::optional<std::size_t> known = index_of_.find(finding);
        const std::size_t position = known.value_or(merged_.findings.size());
        index_of_.add(finding, position);
        signatures_.emplace(finding.signature, position);
        if (!known) {
            merged_.findings.push_back(std::move(finding));
        } else {
            merge(merged_.findings[position], std::move(finding));
        }
    }

    // A part belongs to the finding that its own one was merged into.
    void rename_parts(model::CollectionRecord& record) const {
        for (model::FindingPart& part : record.findings) {
            if (const auto found = signatures_.find(part.signature); found != signatures_.end()) {
                part.signature = merged_.findings[found->second].signature;
            }
        }
    }

    void add_stats(const model::Stats& stats) {
        model::Stats& sum = merged_.stats;
        sum.collections += stats.collections;
        sum.unreachable += stats.unreachable;
        sum.owners += stats.owners;
        sum.seconds += stats.seconds;
        sum.collection_seconds += stats.collection_seconds;
        sum.elapsed += stats.elapsed;
        for (const auto& [reason, times] : stats.skipped) {
            sum.skipped[reason] += times;
        }
    }

    Report merged_;
    std::map<Identity, std::uint32_t> index_;
    std::vector<Timeline> lines_;                              // by process
    MistakeIndex index_of_;                                    // into findings
    std::unordered_map<std::string, std::size_t> signatures_;  // of the reports' own findings
};

}  // namespace

base::Result<Report> merge_reports(std::span<const Report* const> reports) {
    if (reports.empty()) {
        return base::Error{"there are no reports to merge"};
    }
    const base::Result<Speakers> speakers = choose(reports);
    if (!speakers) {
        return base::Error{speakers.error()};
    }
    Merger merger(speakers.value());
    std::set<const Report*> added;
    for (const auto& [process, report] : speakers.value()) {
        if (added.insert(report).second) {
            merger.add(*report);
        }
    }
    return merger.finish();
}

}  // namespace cyclewatch::report
