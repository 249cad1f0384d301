// SPDX-License-Identifier: Apache-2.0
// The stages of a search that use the unreachable objects: find the owners, read them, and capture
// the references that lead to them. What these stages return is plain data and weak references.
//
// REQUIRES (everything here): GIL held. May throw std::bad_alloc. RUNS PYTHON: only readers passed
// to register_owner(), after everything else.
#pragma once

#include <memory>

#include "advice/rules.h"
#include "capture/cluster_identity.h"
#include "capture/graph_capture.h"
#include "collector/unreachable_set.h"
#include "device/claim_check.h"
#include "device/owner_detector.h"
#include "device/owner_registry.h"
#include "watch/captured_collection.h"
#include "watch/inherited_owners.h"
#include "watch/owner_readings.h"
#include "watch/search.h"
#include "watch/suspected_storages.h"

namespace cyclewatch::watch {

struct GarbageReading {
    Depth depth = Depth::none;
    const char* skipped = "";                      // why nothing was captured; "" if it was
    std::unique_ptr<CapturedCollection> captured;  // null: no owner was found
};

class GarbageReader {
  public:
    // Ignores the owners in `inherited`.
    GarbageReader(device::OwnerRegistry& registry,
                  const advice::Rules& rules,
                  const InheritedOwners& inherited)
        : registry_(registry), rules_(rules), inherited_(inherited) {}

    // Reads the objects that `search` found unreachable. A scan has a single watch, and skips the
    // storages that this watch has reported, and those that are not settled if `suspects` is not
    // null. At `least_depth` owners_only, nothing but the owners is read.
    [[nodiscard]] GarbageReading read(const collector::UnreachableSet& unreachable,
                                      const Search& search,
                                      const Watches& watches,
                                      Depth least_depth = Depth::full,
                                      SuspectedStorages* suspects = nullptr);
    // True if read() would find owners.
    [[nodiscard]] bool has_owners(const collector::UnreachableSet& unreachable);

  private:
    // Finds owners among the unreachable objects, and among the objects that only unreachable
    // objects keep alive.
    void detect(const collector::UnreachableSet& unreachable, device::Detection& detection);
    void capture_graph(const collector::UnreachableSet& unreachable,
                       const device::Detection& detection,
                       const OwnerReadings& readings,
                       const Watches& watches,
                       bool may_be_known,
                       Depth depth,
                       CapturedCollection& captured);
    // True if every watch already has findings for unreachable objects with this structure. The
    // graph then need not be captured.
    [[nodiscard]] bool recognize(capture::GraphCapture& graph,
                                 const Watches& watches,
                                 bool values,
                                 CapturedCollection& captured);

    device::OwnerRegistry& registry_;
    const advice::Rules& rules_;
    const InheritedOwners& inherited_;
    device::OwnerDetector detector_;
    device::ClaimCheck claims_;
    capture::ClusterIdentifier identifier_;
};

}  // namespace cyclewatch::watch
