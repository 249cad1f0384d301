// SPDX-License-Identifier: Apache-2.0
#include "report/merger.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/text.h"
#include "report/growth_tracker.h"
#include "report/report_store.h"
#include "report/step_pauses.h"

namespace cyclewatch::report {
namespace {

// Steps with collections in a merged report: in total, and at least for each process.
constexpr std::size_t kMaxMergedPauses = 20'000;
constexpr std::size_t kLeastPauses = 20;
// A file may contain any number.
constexpr int kMaxRanks = 1'000'000;
constexpr std::size_t kMaxNamedRanks = 10;

std::size_t records_each(std::size_t processes) {
    return std::clamp<std::size_t>(kMaxMergedRecords / processes, 2, model::kMaxCollectionRecords);
}

void add_once(std::vector<std::string>& words, const std::string& word) {
    if (std::find(words.begin(), words.end(), word) == words.end()) {
        words.push_back(word);
    }
}

// Whether MistakeIndex::add() would add the same names.
bool has_equal_keys(const model::Finding& finding, const model::Finding& other) {
    return finding.signature == other.signature && finding.pattern == other.pattern &&
           finding.status == other.status && finding.cycle == other.cycle &&
           finding.cut == other.cut && finding.variants.empty() && other.variants.empty();
}

// Moves live owners, growing owners or device records into `merged`.
template <typename Owner>
void add_owners(std::optional<std::vector<Owner>>& owners,
                const std::vector<std::uint32_t>& new_index,
                std::optional<std::vector<Owner>>& merged) {
    if (!owners) {
        return;
    }
    auto& all = merged ? *merged : merged.emplace();
    for (Owner& owner : *owners) {
        owner.process = new_index[owner.process];
        all.push_back(std::move(owner));
    }
}

model::MemorySteps thinned(model::MemorySteps steps, std::size_t limit) {
    StepSamples samples(limit);
    for (const model::StepSample& sample : model::samples_of(steps)) {
        samples.add(sample);
    }
    CensusSamples censuses(limit);
    for (const model::CategorySizes& census : steps.censuses) {
        censuses.add(census);
    }
    model::MemorySteps fewer =
        model::in_columns(std::move(steps.device), samples.entries(), censuses.entries());
    fewer.process = steps.process;
    return fewer;
}

void add_totals(const model::GenerationTotals& each, model::GenerationTotals& sum) {
    sum.collections += each.collections;
    sum.seconds += each.seconds;
    sum.examined += each.examined;
    sum.reclaimed += each.reclaimed;
    sum.freeing += each.freeing;
    sum.freeing_seconds += each.freeing_seconds;
    sum.freed_bytes += each.freed_bytes;
}

// False for a process that a rank has started: it has the number of the rank, but does not know the
// size of the job. Otherwise, either all ranks know it or none (`world_size` is 0).
bool is_rank(const model::ProgramInfo& process, int world_size) {
    return process.rank >= 0 && (process.world_size || world_size == 0);
}

}  // namespace

Merger::Merger(const Sources& sources)
    : timelines_(sources.size(), Timeline(records_each(sources.size()))) {
    for (const auto& [process, report] : sources) {
        process_index_.emplace(process, static_cast<std::uint32_t>(process_index_.size()));
    }
    merged_.processes.resize(sources.size());
}

void Merger::add(model::Report report) {
    std::vector<std::uint32_t> new_index;
    for (const model::ProgramInfo& process : report.processes) {
        new_index.push_back(process_index_.at(identity_of(process)));
        merged_.processes[new_index.back()] = process;
    }
    for (model::Finding& finding : report.findings) {
        add_finding(std::move(finding), new_index);
    }
    for (model::CollectionRecord& record : report.collections) {
        record.process = new_index[record.process];
        rename_parts(record);
        timelines_[record.process].add(record);
    }
    for (const std::string& device : report.devices) {
        add_once(merged_.devices, device);
    }
    for (const std::string& note : report.notes) {
        add_once(merged_.notes, note);
    }
    add_owners(report.growing, new_index, merged_.growing);
    add_owners(report.live_owners, new_index, merged_.live_owners);
    add_owners(report.device_records, new_index, merged_.device_records);
    add_owners(report.censuses, new_index, merged_.censuses);
    add_accounts(report, new_index);
    if (merged_.processes.size() == 1) {
        merged_.addresses = std::move(report.addresses);  // otherwise they would be ambiguous
    }
    if (report.missing_ranks) {
        missing_.insert(report.missing_ranks->begin(), report.missing_ranks->end());
    }
    merged_.retained_bytes += report.retained_bytes;
    merged_.omitted_collections += report.omitted_collections;
    add_stats(report.stats);
}

model::Report Merger::finish() {
    for (const Timeline& timeline : timelines_) {
        const std::vector<model::CollectionRecord> records = timeline.entries();
        merged_.collections.insert(merged_.collections.end(), records.begin(), records.end());
        merged_.omitted_collections += timeline.omitted();
    }
    std::ranges::sort(merged_.findings, model::ranks_before);
    if (merged_.growing) {
        sort_growing(*merged_.growing);
    }
    if (merged_.live_owners) {
        std::ranges::stable_sort(
            *merged_.live_owners, std::ranges::greater(), &model::LiveOwner::bytes);
    }
    if (merged_.device_records) {
        std::ranges::stable_sort(*merged_.device_records, {}, [](const auto& record) {
            return std::pair(record.process, record.device);
        });
        note_shared_devices();
    }
    if (merged_.censuses) {
        std::ranges::sort(*merged_.censuses, {}, &model::CensusTime::process);
    }
    thin_accounts();
    set_missing_ranks();
    note_repeated_ranks();
    merged_.stats.findings = merged_.findings.size();
    merged_.notes.resize(std::min(merged_.notes.size(), kMaxNotes));
    if (merged_.findings.size() > kMaxFindings) {
        merged_.notes.push_back(
            not_kept_note(std::to_string(merged_.findings.size() - kMaxFindings)));
        merged_.findings.resize(kMaxFindings);
    }
    return std::move(merged_);
}

void Merger::add_finding(model::Finding finding, const std::vector<std::uint32_t>& new_index) {
    for (model::ProcessOccurrences& occurrences : finding.by_process) {
        occurrences.process = new_index[occurrences.process];
    }
    const std::optional<std::size_t> known = finding_index_.find(finding);
    const std::size_t position = known.value_or(merged_.findings.size());
    if (!known || !has_equal_keys(finding, indexed_[position])) {
        finding_index_.add(finding, position);
        indexed_.resize(std::max(indexed_.size(), position + 1));
        model::Finding& indexed = indexed_[position];
        indexed.signature = finding.signature;
        indexed.pattern = finding.pattern;
        indexed.status = finding.status;
        indexed.cycle = finding.cycle;
        indexed.cut = finding.cut;
        indexed.variants = finding.variants;
    }
    signatures_.try_emplace(finding.signature, position);
    if (!known) {
        merged_.findings.push_back(std::move(finding));
    } else {
        merge(merged_.findings[position], std::move(finding));
    }
}

void Merger::add_accounts(model::Report& report, const std::vector<std::uint32_t>& new_index) {
    add_owners(report.memory, new_index, merged_.memory);
    add_owners(report.memory_steps, new_index, merged_.memory_steps);
    add_owners(report.collection_steps, new_index, merged_.collection_steps);
    add_owners(report.memory_samples, new_index, merged_.memory_samples);
}

void Merger::thin_accounts() {
    const std::size_t processes = merged_.processes.size();
    if (merged_.memory) {
        for (model::MemoryAccount& account : *merged_.memory) {
            for (model::LiveOwner& holder : account.holders) {
                holder.process = account.process;
            }
            if (processes > kMaxProcessesWithHolders) {
                account.holders.clear();
            }
        }
        std::ranges::stable_sort(*merged_.memory, {}, &model::MemoryAccount::process);
    }
    if (merged_.memory_steps) {
        for (model::MemorySteps& steps : *merged_.memory_steps) {
            steps = thinned(std::move(steps), records_each(processes));
        }
        std::ranges::stable_sort(*merged_.memory_steps, {}, &model::MemorySteps::process);
    }
    if (merged_.collection_steps) {
        thin(*merged_.collection_steps,
             std::clamp(kMaxMergedPauses / processes, kLeastPauses, kMaxPauses));
        std::ranges::stable_sort(*merged_.collection_steps, {}, &model::CollectionSteps::process);
    }
    if (merged_.memory_samples) {
        for (model::MemorySamples& samples : *merged_.memory_samples) {
            samples = UsageSamples(records_each(processes), samples).columns();
        }
        std::ranges::stable_sort(*merged_.memory_samples, {}, &model::MemorySamples::process);
    }
}

int Merger::world_size() const {
    int largest = 0;  // the report may cover several runs
    for (const model::ProgramInfo& process : merged_.processes) {
        largest = std::max(largest, process.world_size.value_or(0));
    }
    return largest;
}

void Merger::set_missing_ranks() {
    const int size = world_size();
    for (int rank = 0; rank < std::min(size, kMaxRanks); ++rank) {
        missing_.insert(missing_.end(), rank);
    }
    for (const model::ProgramInfo& process : merged_.processes) {
        if (is_rank(process, size)) {
            missing_.erase(process.rank);
        }
    }
    if (!missing_.empty()) {
        merged_.missing_ranks.emplace(missing_.begin(), missing_.end());
    }
}

void Merger::note_repeated_ranks() {
    std::map<int, std::size_t> processes;
    const int size = world_size();
    for (const model::ProgramInfo& process : merged_.processes) {
        processes[process.rank] += is_rank(process, size) ? 1 : 0;
    }
    std::vector<std::string> ranks;
    for (const auto& [rank, count] : processes) {
        if (count > 1) {
            ranks.push_back(std::to_string(rank));
        }
    }
    if (ranks.empty()) {
        return;
    }
    const bool one = ranks.size() == 1;
    const std::size_t more = ranks.size() - std::min(ranks.size(), kMaxNamedRanks);
    ranks.resize(ranks.size() - more);
    if (more > 0) {
        ranks.push_back(std::to_string(more) + " more");
    }
    add_once(merged_.notes,
             (one ? "Rank " : "Ranks ") + base::joined(ranks) + (one ? " has" : " have") +
                 " several processes in this report: worker processes, restarted processes, or "
                 "processes of several runs.");
}

void Merger::note_shared_devices() {
    std::map<std::string, std::map<int, const model::DeviceRecord*>> users;  // by UUID and rank
    for (const model::DeviceRecord& record : *merged_.device_records) {
        const int rank = merged_.processes[record.process].rank;
        if (!record.uuid.empty() && rank >= 0) {
            users[record.uuid].emplace(rank, &record);
        }
    }
    for (const auto& [uuid, ranks] : users) {
        if (ranks.size() < 2) {
            continue;
        }
        std::string list;
        std::size_t left = ranks.size();
        for (const auto& [rank, record] : ranks) {
            --left;
            list += std::to_string(rank) + (left > 1 ? ", " : left == 1 ? " and " : "");
        }
        add_once(merged_.notes,
                 "Ranks " + list + " used the same device (" + ranks.begin()->second->name + ").");
    }
}

void Merger::rename_parts(model::CollectionRecord& record) const {
    for (model::FindingPart& part : record.findings) {
        if (const auto found = signatures_.find(part.signature); found != signatures_.end()) {
            part.signature = merged_.findings[found->second].signature;
        }
    }
}

void Merger::add_stats(const model::Stats& stats) {
    model::Stats& sum = merged_.stats;
    sum.collections += stats.collections;
    sum.scans += stats.scans;
    sum.unreachable += stats.unreachable;
    sum.owners += stats.owners;
    sum.seconds += stats.seconds;
    if (stats.suspected_bytes) {
        sum.suspected_bytes = sum.suspected_bytes.value_or(0) + *stats.suspected_bytes;
    }
    sum.collection_seconds += stats.collection_seconds;
    sum.elapsed += stats.elapsed;
    for (const auto& [reason, times] : stats.skipped) {
        sum.skipped[reason] += times;
    }
    for (const model::GenerationTotals& each : stats.generations) {
        add_totals(each, model::totals_of(sum, each.generation));
    }
    model::update_shares(sum);
}

}  // namespace cyclewatch::report
