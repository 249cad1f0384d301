// SPDX-License-Identifier: Apache-2.0
// After a collection, looks up in torch's memory history where the owners of new findings were
// allocated (docs/design/devices.md).
//
// REQUIRES (everything here): GIL held.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "watch/allocations.h"
#include "watch/captured_collection.h"
#include "watch/watch.h"

namespace cyclewatch::watch {

// The storages of one collection, indexed by model::StorageId. Null if no storage is on a CUDA
// device.
using CollectedStorages = std::shared_ptr<const std::vector<CollectedStorage>>;

// Call this after check_freed() or, for a scan, after check_references(). RUNS PYTHON: never. May
// throw std::bad_alloc.
[[nodiscard]] CollectedStorages collected_storages(const CapturedCollection& collection, bool scan);

// A request to look up the owners of one finding.
struct SiteRequest {
    std::string signature;
    std::vector<model::OwnerSummary> owners;  // with their `storages`
    CollectedStorages storages;
};

// Moves the storages of the owners from `findings` into requests, at most one for each finding.
[[nodiscard]] std::vector<SiteRequest> take_site_requests(std::vector<model::Finding>& findings,
                                                          const CollectedStorages& storages);

class SiteLookup {
  public:
    // Queues the requests for new findings, and posts a callback that looks up all queued requests
    // in one snapshot of the history. Notifications posted later include the allocation sites.
    void enqueue(const std::shared_ptr<Watch>& watch,
                 const std::shared_ptr<CollectionResult>& result,
                 std::vector<SiteRequest> requests);

  private:
    struct Pending {
        std::shared_ptr<Watch> watch;
        std::shared_ptr<CollectionResult> result;
        SiteRequest request;
    };

    void look_up_pending();
    [[nodiscard]] bool affordable(const Pending& pending) const;
    // False if there is no history.
    bool read(std::vector<Pending>& pending);
    void report_failure(const std::vector<Pending>& pending, const std::string& failure);

    std::vector<Pending> waiting_;
    double seconds_ = 0;  // spent on lookups
    bool failure_logged_ = false;
};

}  // namespace cyclewatch::watch
