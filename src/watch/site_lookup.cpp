// SPDX-License-Identifier: Apache-2.0
#include "watch/site_lookup.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "base/source_path.h"
#include "device/device_selection.h"
#include "model/mistake.h"
#include "python/guards.h"
#include "report/merge.h"
#include "watch/budget.h"
#include "watch/notification_queue.h"

namespace cyclewatch::watch {
namespace {

// The address in the result is 0 if the storage is not on a CUDA device.
const CollectedStorage& storage_of(const CollectedStorages& storages,
                                   const model::StorageShare& share) {
    return (*storages)[model::index_of(share.storage)];
}

void append_storages(const SiteRequest& request, std::vector<CollectedStorage>& storages) {
    for (const model::OwnerSummary& owner : request.owners) {
        for (const model::StorageShare& share : owner.storages) {
            storages.push_back(storage_of(request.storages, share));
        }
    }
}

// torch may also record C++ frames, which have arbitrary paths.
bool is_python_file(std::string_view path) {
    return path.ends_with(".py") || path.starts_with('<');
}

// "path:line"; "" if the stack is unknown.
std::string site_in(const std::vector<StackFrame>& stack) {
    base::CallChoice choice;
    for (const StackFrame& frame : stack) {
        if (is_python_file(frame.path) && !choice.offer({frame.path, frame.line})) {
            break;
        }
    }
    return base::text_of(choice.take());
}

std::vector<std::string> texts_of(const std::vector<StackFrame>& stack) {
    std::vector<std::string> texts;
    texts.reserve(stack.size());
    for (const auto& [path, line, function] : stack) {
        texts.push_back(base::text_of({path, line}) + (function.empty() ? "" : " in " + function));
    }
    return texts;
}

// Returns the owners with their allocation sites, which are taken from the front of `stacks`. The
// stacks are in the order of append_storages().
std::vector<report::PlacedOwners> placed(SiteRequest& request,
                                         std::span<const std::vector<StackFrame>>& stacks) {
    std::vector<report::PlacedOwners> result;
    for (model::OwnerSummary& owner : request.owners) {
        report::PlacedOwners& group = result.emplace_back();
        for (const model::StorageShare& share : std::exchange(owner.storages, {})) {
            const std::vector<StackFrame>& stack = stacks.front();
            stacks = stacks.subspan(1);
            const std::string site = site_in(stack);
            if (!site.empty()) {
                report::PlacedAt& at = group.sites[site];
                at.owners += share.owners;
                at.stack = at.stack.empty() ? texts_of(stack) : std::move(at.stack);
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
        for (const auto& [site, at] : group.sites) {
            not_found -= std::min(at.owners, not_found);
        }
    }
    return not_found;
}

// Updates all copies of the finding.
void update_copies(Watch& watch,
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

CollectedStorages collected_storages(const CapturedCollection& collection, bool scan) {
    std::shared_ptr<std::vector<CollectedStorage>> storages;
    for (const PendingOwner& owner : collection.owners) {
        const model::Storage& storage = collection.observation.storages[owner.storage];
        const std::optional<int> device = device::cuda_number(storage.device);
        if (!device) {
            continue;
        }
        if (storages == nullptr) {
            storages = std::make_shared<std::vector<CollectedStorage>>();
            storages->resize(collection.observation.storages.size());
        }
        (*storages)[owner.storage] = {.device = *device,
                                      .address = owner.reading.storage,
                                      .bytes = storage.bytes,
                                      .released = storage.released && !scan,
                                      .unreachable = collection.unreachable_at,
                                      .settled = collection.swept_at};
    }
    return storages;
}

std::vector<SiteRequest> take_site_requests(std::vector<model::Finding>& findings,
                                            const CollectedStorages& storages) {
    std::vector<SiteRequest> requests;
    for (model::Finding& finding : findings) {
        SiteRequest request{finding.signature, {}, storages};
        for (model::OwnerSummary& owner : finding.owners) {
            std::vector<model::StorageShare> shares = std::exchange(owner.storages, {});
            if (storages == nullptr || !owner.allocated_at.empty()) {
                continue;
            }
            std::erase_if(shares, [&](const model::StorageShare& share) {
                return storage_of(storages, share).address == 0;
            });
            if (!shares.empty()) {
                request.owners.push_back(owner);
                request.owners.back().storages = std::move(shares);
            }
        }
        if (!request.owners.empty()) {
            requests.push_back(std::move(request));
        }
    }
    return requests;
}

void SiteLookup::enqueue(const std::shared_ptr<Watch>& watch,
                         const std::shared_ptr<CollectionResult>& result,
                         std::vector<SiteRequest> requests) {
    std::erase_if(requests, [&result](const SiteRequest& request) {
        return std::ranges::none_of(result->fresh, [&request](const model::Finding& finding) {
            return finding.signature == request.signature;
        });
    });
    if (requests.empty() || !watch->settings().listeners.find_allocations) {
        return;
    }
    if (waiting_.empty() && !post([this] { look_up_pending(); })) {
        return;
    }
    for (SiteRequest& request : requests) {
        waiting_.push_back({watch, result, std::move(request)});
    }
}

bool SiteLookup::affordable(const Pending& pending) const {
    // Lookups and collections have separate budgets, because the first lookup may take seconds and
    // must not exhaust the budget of later collections.
    const Watch& watch = *pending.watch;
    const Budget budget(watch.settings().budget);
    return seconds_ == 0 || budget.allows(seconds_, watch.seconds_since_start(Clock::now()));
}

void SiteLookup::look_up_pending() {
    std::vector<Pending> pending = std::exchange(waiting_, {});
    std::erase_if(pending, [this](const Pending& one) {
        if (affordable(one)) {
            return false;
        }
        one.watch->skip("allocation sites not looked up: over budget");
        return true;
    });
    if (!pending.empty()) {
        const Clock::time_point began = Clock::now();
        const bool is_recorded = read(pending);
        seconds_ += is_recorded ? seconds(Clock::now() - began) : 0;
    }
}

bool SiteLookup::read(std::vector<Pending>& pending) {
    std::vector<CollectedStorage> storages;
    for (const Pending& one : pending) {
        append_storages(one.request, storages);
    }
    AllocationStacks found;
    {
        const python::YoungCountGuard young_count;
        const python::GcPause pause;
        found = pending.front().watch->settings().listeners.find_allocations(storages);
    }
    if (!found.is_recorded || !found.failure.empty()) {
        if (found.is_recorded) {
            report_failure(pending, found.failure);
        }
        return found.is_recorded;
    }
    found.stacks.resize(storages.size());
    std::span<const std::vector<StackFrame>> stacks = found.stacks;
    for (Pending& one : pending) {
        const std::vector<report::PlacedOwners> groups = placed(one.request, stacks);
        one.watch->skip("owners not found in torch's memory history", count_not_found(groups));
        update_copies(*one.watch, *one.result, one.request.signature, groups);
    }
    return true;
}

void SiteLookup::report_failure(const std::vector<Pending>& pending, const std::string& failure) {
    for (const Pending& one : pending) {
        one.watch->skip("allocation sites not looked up: torch's memory history could not be read");
    }
    if (!std::exchange(failure_logged_, true)) {
        pending.front().watch->log(
            kWarning,
            "torch's memory history could not be read (" + failure +
                "), so findings do not show where their memory was allocated.");
    }
}

}  // namespace cyclewatch::watch
