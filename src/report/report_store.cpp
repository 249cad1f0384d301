// SPDX-License-Identifier: Apache-2.0
#include "report/report_store.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "report/merge.h"

namespace cyclewatch::report {
namespace {

using Parts = std::map<std::string, model::FindingPart>;  // by signature

void add_part(Parts& parts, const std::string& signature, const model::Finding& finding) {
    model::FindingPart& part = parts[signature];
    part.signature = signature;
    part.occurrences += finding.occurrences;
    part.retained_bytes += finding.attributed_bytes;
}

std::vector<model::FindingPart> largest_first(Parts&& by_signature) {
    std::vector<model::FindingPart> parts;
    parts.reserve(by_signature.size());
    for (auto& [signature, part] : by_signature) {
        parts.push_back(std::move(part));
    }
    std::stable_sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) {
        return a.retained_bytes > b.retained_bytes;
    });
    parts.resize(std::min(parts.size(), model::kMaxPartsPerCollection));
    return parts;
}

}  // namespace

std::string not_kept_note(const std::string& number) {
    return number + " more findings were not stored: a report holds at most " +
           std::to_string(kMaxFindings) + ".";
}

Added ReportStore::add(const model::CollectionRecord& record,
                       std::vector<model::Finding> findings,
                       bool repeated,
                       Repeat repeat,
                       std::uint64_t of_scans) {
    const std::lock_guard lock(mutex_);
    retained_bytes_ += record.released_bytes;
    Added added;
    Parts parts;
    for (model::Finding& finding : findings) {
        stamp(finding, record);
        if (const std::optional<std::size_t> known = index_.find(finding)) {
            model::Finding& stored = findings_[*known];
            add_part(parts, stored.signature, finding);
            if (!repeated) {
                index_.add(finding, *known);
            }
            merge(stored, std::move(finding));
            if (!repeated) {
                added.seen.push_back(stored);
            }
            std::uint64_t& warned_at = warned_at_[*known];
            const std::uint64_t bytes = model::reached_bytes(stored);
            if (repeat == Repeat::each || (bytes > 0 && bytes / 2 >= warned_at)) {
                warned_at = bytes;
                added.again.push_back(stored);
            }
            continue;
        }
        add_part(parts, finding.signature, finding);
        if (findings_.size() >= kMaxFindings) {
            count_not_kept(finding.signature);
            continue;
        }
        // Store the finding before indexing it, so that a failure cannot leave an index entry
        // without a finding.
        warned_at_.push_back(model::reached_bytes(finding));
        findings_.push_back(std::move(finding));
        index_.add(findings_.back(), findings_.size() - 1);
        added.fresh.push_back(findings_.back());
    }
    if (record.owners > 0) {
        model::CollectionRecord stored = record;
        stored.released_bytes += of_scans;
        stored.findings = largest_first(std::move(parts));
        collections_.add(stored);
    }
    return added;
}

void ReportStore::add_collection(const model::CollectionRecord& record) {
    const std::lock_guard lock(mutex_);
    collections_.add(record);
}

void ReportStore::count_not_kept(const std::string& signature) {
    if (not_kept_.size() < kMaxFindings) {
        not_kept_.insert(signature);
    } else if (!not_kept_.contains(signature)) {
        more_not_kept_ = true;
    }
}

void ReportStore::add_dead(std::vector<DeadStorage> storages) {
    const std::lock_guard lock(mutex_);
    for (DeadStorage& storage : storages) {
        dead_.add(std::move(storage));
    }
}

void ReportStore::update_dead(
    const std::function<bool(const std::string& device, std::uint64_t)>& exists, double now) {
    const std::lock_guard lock(mutex_);
    dead_.update(exists, now);
}

void ReportStore::revise(const std::function<void(model::Finding&)>& change) {
    const std::lock_guard lock(mutex_);
    std::ranges::for_each(findings_, change);
}

void ReportStore::add_source(SourceLines lines) {
    const std::lock_guard lock(mutex_);
    source_.add(std::move(lines));
}

void ReportStore::fill_source(model::Finding& finding) const {
    const std::lock_guard lock(mutex_);
    source_.fill(finding);
}

void ReportStore::note(const std::string& sentence) {
    const std::lock_guard lock(mutex_);
    if (notes_.size() < kMaxNotes && std::ranges::find(notes_, sentence) == notes_.end()) {
        notes_.push_back(sentence);
    }
}

void ReportStore::set_note(const std::string& topic, const std::string& sentence) {
    const std::lock_guard lock(mutex_);
    if (sentence.empty()) {
        state_notes_.erase(topic);
    } else {
        state_notes_[topic] = sentence;
    }
}

void ReportStore::set_census(std::vector<model::GrowingOwner> growing,
                             std::span<const model::LiveOwner> owners,
                             std::size_t most,
                             model::CensusTime time) {
    const std::lock_guard lock(mutex_);
    const std::span<const model::LiveOwner> largest = owners.first(std::min(owners.size(), most));
    growing_ = std::move(growing);
    live_owners_.emplace(largest.begin(), largest.end());
    censuses_ = {time};
    add_categories(owners, time);
}

void ReportStore::add_categories(std::span<const model::LiveOwner> owners, model::CensusTime time) {
    std::map<std::string, model::CategorySizes> sizes;  // by device
    for (const auto& [device, known] : steps_) {
        sizes[device];  // possibly without reachable owners
    }
    for (const model::LiveOwner& each : owners) {
        model::add_size(sizes[each.owner.device], each);
    }
    for (auto& [device, census] : sizes) {
        if (steps_.size() >= kMaxStepDevices && !steps_.contains(device)) {
            continue;
        }
        census.step = time.step;
        census.at = time.at;
        steps_[device].censuses.add(census);
    }
}

void ReportStore::set_account(model::MemoryAccount account) {
    const std::lock_guard lock(mutex_);
    accounts_[{account.device, account.occasion}] = std::move(account);
}

void ReportStore::add_sample(const std::string& device, model::StepSample sample) {
    const std::lock_guard lock(mutex_);
    if (steps_.size() >= kMaxStepDevices && !steps_.contains(device)) {
        return;
    }
    auto& samples = steps_[device].samples;
    sample.number = samples.added() + 1;
    samples.add(sample);
}

void ReportStore::begin_step(std::int64_t step, double at) {
    const std::lock_guard lock(mutex_);
    pauses_.begin_step(step, at);
}

void ReportStore::add_pause(double seconds, std::uint64_t freed_bytes) {
    const std::lock_guard lock(mutex_);
    pauses_.add(seconds, freed_bytes);
}

void ReportStore::add_usage(const std::string& device,
                            const std::string& source,
                            double at,
                            std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    if (usage_.size() >= kMaxStepDevices && !usage_.contains(device)) {
        return;
    }
    const auto [place, added] = usage_.try_emplace(device, kMaxUsageRows, device, source);
    if (place->second.source() != source) {
        place->second = UsageSamples(kMaxUsageRows, device, source);
    }
    place->second.add(at, bytes);
}

void ReportStore::set_rank(int rank, std::optional<int> world_size) {
    const std::lock_guard lock(mutex_);
    program_.rank = rank;
    program_.world_size = world_size;
}

void ReportStore::set_elapsed(double seconds) {
    const std::lock_guard lock(mutex_);
    program_.elapsed = seconds;
}

void ReportStore::set_unexamined(std::string objects) {
    const std::lock_guard lock(mutex_);
    program_.unexamined = std::move(objects);
}

void ReportStore::set_device(model::DeviceRecord record) {
    const std::lock_guard lock(mutex_);
    device_records_[record.device] = std::move(record);
}

std::optional<std::vector<model::StorageAddresses>> ReportStore::addresses() const {
    std::vector<std::pair<double, std::span<const model::LiveOwner>>> listed;
    if (live_owners_ && censuses_) {
        listed.emplace_back(censuses_->front().at, *live_owners_);
    }
    for (const auto& [key, account] : accounts_) {
        listed.emplace_back(account.at, account.holders);
    }
    std::ranges::stable_sort(listed,
                             [](const auto& a, const auto& b) { return a.first > b.first; });
    AddressList list;
    for (const auto& [at, owners] : listed) {
        list.add(owners, at);
    }
    dead_.append_to(list);
    return list.take();
}

model::Report ReportStore::snapshot(const model::Stats& stats) const {
    const std::lock_guard lock(mutex_);
    model::Report report;
    report.processes = {program_};
    report.processes.front().elapsed = program_.elapsed.value_or(stats.elapsed);
    report.devices = devices_;
    report.findings = findings_;
    std::ranges::for_each(report.findings, [this](auto& finding) { source_.fill(finding); });
    std::ranges::sort(report.findings, model::ranks_before);
    report.retained_bytes = retained_bytes_;
    report.collections = collections_.entries();
    report.omitted_collections = collections_.omitted();
    report.growing = growing_;
    report.live_owners = live_owners_;
    for (const auto& [device, record] : device_records_) {
        (report.device_records ? *report.device_records : report.device_records.emplace())
            .push_back(record);
    }
    report.censuses = censuses_;
    for (const auto& [key, account] : accounts_) {
        (report.memory ? *report.memory : report.memory.emplace()).push_back(account);
    }
    for (const auto& [device, steps] : steps_) {
        const std::vector<model::StepSample> samples = steps.samples.entries();
        if (!samples.empty()) {  // otherwise, the program sets no steps
            (report.memory_steps ? *report.memory_steps : report.memory_steps.emplace())
                .push_back(model::in_columns(device, samples, steps.censuses.entries()));
        }
    }
    if (std::vector<model::CollectionSteps> steps = pauses_.columns(); !steps.empty()) {
        report.collection_steps = std::move(steps);
    }
    for (const auto& [device, samples] : usage_) {
        if (samples.columns().times.size() >= kFewestUsageRows) {
            (report.memory_samples ? *report.memory_samples : report.memory_samples.emplace())
                .push_back(samples.columns());
        }
    }
    report.addresses = addresses();
    report.stats = stats;
    report.stats.findings = findings_.size() + not_kept_.size();
    report.notes = notes_;
    for (const auto& [topic, sentence] : state_notes_) {
        report.notes.push_back(sentence);
    }
    if (!not_kept_.empty()) {
        report.notes.push_back(
            not_kept_note((more_not_kept_ ? "More than " : "") + std::to_string(not_kept_.size())));
    }
    return report;
}

}  // namespace cyclewatch::report
