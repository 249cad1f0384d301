// SPDX-License-Identifier: Apache-2.0
#include "watch/finding_reporter.h"

#include <memory>
#include <string_view>
#include <utility>

#include "analysis/analyze.h"
#include "base/text.h"
#include "watch/dead_addresses.h"
#include "watch/known_findings.h"
#include "watch/program_info.h"

namespace cyclewatch::watch {
namespace {

DeviceFilter devices_of(const Watch& watch, bool accelerator_usable) {
    return [&watch, accelerator_usable](std::string_view device) {
        return watch.wants(device, accelerator_usable);
    };
}

// If only one finding can explain the memory that no owner explains, assigns this memory to it.
void add_unowned_bytes(const model::CollectionRecord& record,
                       std::vector<model::Finding>& findings) {
    model::Finding* only = nullptr;
    for (model::Finding& finding : findings) {
        if (finding.unowned_bytes) {
            finding.unowned_bytes = 0;
            if (only != nullptr) {
                return;
            }
            only = &finding;
        }
    }
    for (const model::DeviceMemory& sample : record.device_memory) {
        if (only != nullptr) {
            *only->unowned_bytes += sample.unowned_bytes.value_or(0);
        }
    }
}

// Adds the memory that only graphs keep to the finding for the owner of the graph.
void add_saved(const CapturedCollection& captured, std::vector<model::Finding>& findings) {
    for (const SavedStorage& saved : captured.saved) {
        const std::vector<std::string>& of_owner = captured.signatures[saved.of];
        auto finding = std::ranges::find_if(findings, [&](const model::Finding& each) {
            return std::ranges::find(of_owner, each.signature) != of_owner.end();
        });
        if (finding == findings.end()) {
            finding = findings.begin();
        }
        if (finding != findings.end()) {
            finding->unowned_bytes = finding->unowned_bytes.value_or(0) + saved.reading.bytes;
        }
    }
}

void count_omissions(Watch& watch, const CapturedCollection& captured) {
    watch.skip("owners whose reader failed", captured.failed_readings);
    for (const auto& [type, contradiction] : captured.contradictions) {
        watch.skip(
            "owners of type " + base::clean_text(type) + " whose device or size CUDA contradicts",
            contradiction.owners);
    }
    watch.skip("objects not captured: over the limit for one collection",
               captured.observation.omitted_nodes);
    watch.skip("references not captured: over the limit for one collection",
               captured.observation.omitted_references);
}

}  // namespace

void FindingReporter::report(CapturedCollection& captured,
                             const model::CollectionRecord& record,
                             const Search& search,
                             const Watches& watches) {
    const CollectedStorages storages = collected_storages(captured, record.scan);
    log_contradictions(captured, watches);
    for (const std::shared_ptr<Watch>& watch : watches) {
        // Select the owners on the devices of this watch.
        const model::Observation& observation =
            select_owners(captured,
                          devices_of(*watch, captured.accelerator_usable),
                          *watch,
                          record,
                          search.started);
        count_omissions(*watch, captured);
        if (observation.record.owners == 0) {
            continue;
        }

        // Find the cycles, and the references to cut. Assign patterns and statuses.
        std::vector<model::Finding> findings = find(observation, captured, *watch, search);
        add_unowned_bytes(observation.record, findings);

        // Store the findings; update the report file.
        if (record.scan) {
            for (model::Finding& finding : findings) {
                finding.uncollected_bytes = finding.retained_bytes + finding.shared_bytes;
            }
            captured.signatures = signatures_by_storage(captured, findings);
            add_saved(captured, findings);
        }
        std::vector<report::DeadStorage> dead;
        if (storages != nullptr) {
            dead = dead_storages(captured, findings, *watch, observation.record);
        }
        std::vector<SiteRequest> requests = take_site_requests(findings, storages);
        const std::shared_ptr<CollectionResult> result =
            watch->add(observation.record, std::move(findings), std::move(dead), captured.is_known);

        // Queue the lookup of allocation sites, then the notifications.
        site_lookup_.enqueue(watch, result, std::move(requests));
        watch->describe_devices(observation, captured.cuda_error);
        watch->notify(observation.record, result);
    }
}

std::vector<model::Finding> FindingReporter::find(const model::Observation& observation,
                                                  const CapturedCollection& captured,
                                                  Watch& watch,
                                                  const Search& search) const {
    const FreedCopies freed = freed_copies(captured);
    if (captured.is_known) {
        // A watch that was started during this collection does not know the findings.
        std::vector<model::Finding> findings;
        if (freed.whole > 0 && watch.known().contains(captured.shape, true)) {
            findings = watch.known().findings(captured.shape, freed.whole);
        }
        if (freed.in_part > 0) {
            watch.known().reject(captured.shape);
            watch.skip("cycles not analyzed: some of their objects were resurrected",
                       freed.in_part);
        }
        return findings;
    }
    std::vector<model::Finding> findings =
        analysis::analyze(observation, search.collected != model::Collected::uncollectable);
    for (model::Finding& finding : findings) {
        finding.collected = search.collected;
        rules_.judge(finding, loaded_version);
    }
    const bool is_complete = observation.omitted_nodes == 0 &&
                             observation.omitted_references == 0 &&
                             (observation.repeats.empty() || captured.shape.copies > 1);
    if (is_complete && freed.whole == captured.shape.copies) {
        watch.known().add(captured.shape, findings, storage_signatures(captured, findings));
    }
    return findings;
}

void FindingReporter::log_contradictions(const CapturedCollection& captured,
                                         const Watches& watches) {
    for (const auto& [type, contradiction] : captured.contradictions) {
        if (!logged_contradictions_.insert(type).second) {
            continue;
        }
        for (const auto& watch : watches) {
            watch->log(kWarning,
                       base::clean_text(type) + " " + contradiction.description +
                           ". Such owners are not reported, but counted.");
        }
    }
}

}  // namespace cyclewatch::watch
