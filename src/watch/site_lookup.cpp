// SPDX-License-Identifier: Apache-2.0
#include "watch/site_lookup.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "device/device_selection.h"
#include "device/torch_history.h"
#include "model/mistake.h"
#include "python/guards.h"
#include "report/merge.h"
#include "watch/budget.h"
#include "watch/notification_queue.h"

namespace cyclewatch::watch {
namespace {

constexpr int kWarning = 30;  // logging.WARNING

// Without an address: on a device whose allocations torch does not record.
const device::CollectedStorage& storage_of(const CollectedStorages& storages,
                                           const model::StorageShare& share) {
    return (*storages)[model::index_of(share.storage)];
}

// The storages that its owners are over, one after the other.
void append_storages(const SiteQuestion& question,
                     std::vector<device::CollectedStorage>& storages) {
    for (const model::OwnerSummary& owner : question.owners) {
        for (const model::StorageShare& share : owner.storages) {
            storages.push_back(storage_of(question.storages, share));
        }
    }
}

// What `answers` say of each of its owners. They are in the order of append_storages(); those that
// are used are taken off the front.
std::vector<report::PlacedOwners> placed(SiteQuestion& question,
                                         std::span<const base::CallSite>& answers) {
    std::vector<report::PlacedOwners> result;
    for (model::OwnerSummary& owner : question.owners) {
        report::PlacedOwners& group = result.emplace_back();
        for (const model::StorageShare& share : std::exchange(owner.storages, {})) {
            const base::CallSite& site = answers.front();
            answers = answers.subspan(1);
            if (!site.path.empty()) {
                group.sites[base::text_of(site)] += share.owners;
            }
        }
        group.owner = std::move(owner);
    }
    return result;
}

std::uint64_t count_not_found(const std::vector<report::PlacedOwners>& groups) {
    std::uint64_t not_found = 0;
    for (const report::PlacedOwners& group : groups) {
        not_found += group.owner.count;
        for (const auto& [site, count] : group.sites) {
            not_found -= std::min(count, not_found);
        }
    }
    return not_found;
}

// Tells everybody who has a copy of the finding.
void spread(Watch& watch,
            CollectionResult& result,
            const std::string& signature,
            const std::vector<report::PlacedOwners>& groups) {
    const auto place = [&](model::Finding& finding) {
        if (model::has_signature(finding, signature)) {
            for (const report::PlacedOwners& group : groups) {
                report::place(finding, group);
            }
        }
    };
    watch.revise(place);
    std::ranges::for_each(result.fresh, place);
    std::ranges::for_each(result.found, place);
}

}  // namespace

CollectedStorages collected_storages(const CapturedCollection& collection) {
    std::shared_ptr<std::vector<device::CollectedStorage>> storages;
    for (const PendingOwner& owner : collection.owners) {
        const model::Storage& storage = collection.storages[owner.storage];
        const std::optional<int> device = device::cuda_number(storage.device);
        if (!device) {
            continue;
        }
        if (storages == nullptr) {
            storages = std::make_shared<std::vector<device::CollectedStorage>>();
            storages->resize(collection.storages.size());
        }
        (*storages)[owner.storage] = {.device = *device,
                                      .address = owner.reading.storage,
                                      .bytes = storage.bytes,
                                      .released = storage.released,
                                      .unreachable = collection.unreachable_at,
                                      .settled = collection.swept_at};
    }
    return storages;
}

std::vector<SiteQuestion> take_questions(std::vector<model::Finding>& findings,
                                         const CollectedStorages& storages) {
    std::vector<SiteQuestion> questions;
    for (model::Finding& finding : findings) {
        SiteQuestion question{finding.signature, {}, storages};
        for (model::OwnerSummary& owner : finding.owners) {
            std::vector<model::StorageShare> shares = std::exchange(owner.storages, {});
            if (storages == nullptr || !owner.allocated_at.empty()) {
                continue;
            }
            std::erase_if(shares, [&](const model::StorageShare& share) {
                return storage_of(storages, share).address == 0;
            });
            if (!shares.empty()) {
                question.owners.push_back(owner);
                question.owners.back().storages = std::move(shares);
            }
        }
        if (!question.owners.empty()) {
            questions.push_back(std::move(question));
        }
    }
    return questions;
}

void SiteLookup::ask(const std::shared_ptr<Watch>& watch,
                     const std::shared_ptr<CollectionResult>& result,
                     std::vector<SiteQuestion> questions) {
    std::erase_if(questions, [&result](const SiteQuestion& question) {
        return std::ranges::none_of(result->fresh, [&question](const model::Finding& finding) {
            return finding.signature == question.signature;
        });
    });
    if (questions.empty()) {
        return;
    }
    if (waiting_.empty() && !post([this] { answer(); })) {
        return;
    }
    for (SiteQuestion& question : questions) {
        waiting_.push_back({watch, result, std::move(question)});
    }
}

bool SiteLookup::affordable(const Asked& asked) const {
    // Counted apart from what is spent in collections: the first look-up may take seconds, and
    // must not cost the graphs of later ones.
    const Watch& watch = *asked.watch;
    const Budget budget(watch.settings().budget);
    return seconds_ == 0 ||
           budget.depth(seconds_, watch.seconds_since_start(Clock::now()), 1) == Depth::full;
}

void SiteLookup::answer() {
    std::vector<Asked> asked = std::exchange(waiting_, {});
    const auto device_of = [](const Asked& one) {
        const model::OwnerSummary& owner = one.question.owners.front();
        return storage_of(one.question.storages, owner.storages.front()).device;
    };
    if (asked.empty() || !device::torch_records_history(device_of(asked.front()))) {
        return;
    }
    std::erase_if(asked, [this](const Asked& one) {
        if (affordable(one)) {
            return false;
        }
        one.watch->skip("findings not looked up in torch's memory history: over budget");
        return true;
    });
    if (!asked.empty()) {
        const Clock::time_point began = Clock::now();
        read(asked);
        seconds_ += std::chrono::duration<double>(Clock::now() - began).count();
    }
}

void SiteLookup::read(std::vector<Asked>& asked) {
    std::vector<device::CollectedStorage> storages;
    for (const Asked& one : asked) {
        append_storages(one.question, storages);
    }
    device::HistoryReading reading;
    {
        const python::YoungCountGuard young_count;
        const python::GcPause pause;
        reading = device::read_torch_history(storages);
    }
    if (reading.interrupted) {
        return;
    }
    if (!reading.failure.empty()) {
        tell_failure(asked, reading.failure);
        return;
    }
    std::span<const base::CallSite> answers = reading.sites;
    for (Asked& one : asked) {
        const std::vector<report::PlacedOwners> groups = placed(one.question, answers);
        one.watch->skip("owners not found in torch's memory history", count_not_found(groups));
        spread(*one.watch, *one.result, one.question.signature, groups);
    }
}

void SiteLookup::tell_failure(const std::vector<Asked>& asked, const std::string& failure) {
    for (const Asked& one : asked) {
        one.watch->skip("findings not looked up: torch's memory history could not be read");
    }
    if (!std::exchange(told_failure_, true)) {
        asked.front().watch->log(kWarning,
                                 "torch's memory history could not be read (" + failure +
                                     "); findings do not say where their memory was allocated.");
    }
}

}  // namespace cyclewatch::watch
