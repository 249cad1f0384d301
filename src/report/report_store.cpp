// SPDX-License-Identifier: Apache-2.0
#include "report/report_store.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "report/merge.h"
#include "report/mistake_index.h"
#include "report/timeline.h"

namespace cyclewatch::report {

namespace {

using Parts = std::map<std::string, model::FindingPart>;  // by signature

// Counts `finding` as a part of the stored finding of that signature.
void add_part(Parts& parts, const std::string& signature, const model::Finding& finding) {
    model::FindingPart& part = parts[signature];
    part.signature = signature;
    part.occurrences += finding.occurrences;
    part.retained_bytes += finding.attributed_bytes;
}

// What one collection found unreachable, by finding, largest first.
std::vector<model::FindingPart> sorted(Parts&& by_signature) {
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

struct ReportStore::Impl {
    mutable std::mutex mutex;
    model::ProgramInfo program;
    std::vector<std::string> devices;

    std::vector<model::Finding> findings;  // in order of appearance
    MistakeIndex index;                    // into findings
    std::set<std::string> not_kept;        // signatures beyond the limit
    bool more_not_kept = false;            // even that list is full: the number is a lower bound
    std::uint64_t retained_bytes = 0;
    Timeline collections;
    std::vector<std::string> notes;

    void keep_record(model::CollectionRecord record, Parts parts) {
        if (record.owners > 0) {
            record.findings = sorted(std::move(parts));
            collections.add(record);
        }
    }

    // The stored finding that `finding` is the same mistake as, or null if there is no room for a
    // new one.
    model::Finding* slot_for(const model::Finding& finding, bool& fresh) {
        fresh = false;
        const std::string& signature = finding.signature;
        if (const std::optional<std::size_t> known = index.find(finding)) {
            index.add(finding, *known);
            return &findings[*known];
        }
        if (findings.size() >= kMaxFindings) {
            if (not_kept.size() < kMaxFindings) {
                not_kept.insert(signature);
            } else if (!not_kept.contains(signature)) {
                more_not_kept = true;
            }
            return nullptr;
        }
        fresh = true;
        model::Finding& stored = findings.emplace_back();
        try {
            index.add(finding, findings.size() - 1);
        } catch (...) {
            findings.pop_back();  // out of memory: neither is there
            index.remove(findings.size());
            throw;
        }
        return &stored;
    }
};

std::string not_kept_note(const std::string& number) {
    return number + " further kinds of cycles were seen and not kept: a report holds at most " +
           std::to_string(kMaxFindings) + ".";
}

ReportStore::ReportStore(model::ProgramInfo program, std::vector<std::string> devices)
    : impl_(std::make_shared<Impl>()) {
    impl_->program = std::move(program);
    impl_->devices = std::move(devices);
}

Added ReportStore::add(const model::CollectionRecord& record,
                       std::vector<model::Finding> findings) {
    const std::lock_guard lock(impl_->mutex);
    impl_->retained_bytes += record.released_bytes;
    Added added;
    Parts parts;
    for (model::Finding& finding : findings) {
        stamp(finding, record);
        bool fresh = false;
        model::Finding* stored = impl_->slot_for(finding, fresh);
        add_part(
            parts, stored == nullptr || fresh ? finding.signature : stored->signature, finding);
        if (stored == nullptr) {
            continue;
        }
        if (fresh) {
            *stored = std::move(finding);
            added.fresh.push_back(*stored);
        } else {
            merge(*stored, std::move(finding));
            added.seen.push_back(*stored);
        }
    }
    impl_->keep_record(record, std::move(parts));
    return added;
}

void ReportStore::revise(const std::function<void(model::Finding&)>& change) {
    const std::lock_guard lock(impl_->mutex);
    for (model::Finding& finding : impl_->findings) {
        change(finding);
    }
}

void ReportStore::note(const std::string& sentence) {
    const std::lock_guard lock(impl_->mutex);
    const auto& notes = impl_->notes;
    if (notes.size() < kMaxNotes &&
        std::find(notes.begin(), notes.end(), sentence) == notes.end()) {
        impl_->notes.push_back(sentence);
    }
}

model::Report ReportStore::snapshot(const model::Stats& stats) const {
    const std::lock_guard lock(impl_->mutex);
    model::Report report;
    report.processes = {impl_->program};
    report.devices = impl_->devices;
    report.findings = impl_->findings;
    sort_largest_first(report.findings);
    report.retained_bytes = impl_->retained_bytes;
    report.collections = impl_->collections.records();
    report.omitted_collections = impl_->collections.omitted();
    report.stats = stats;
    report.stats.findings = impl_->findings.size() + impl_->not_kept.size();
    report.notes = impl_->notes;
    if (!impl_->not_kept.empty()) {
        report.notes.push_back(not_kept_note((impl_->more_not_kept ? "More than " : "") +
                                             std::to_string(impl_->not_kept.size())));
    }
    return report;
}

}  // namespace cyclewatch::report
