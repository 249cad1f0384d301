// SPDX-License-Identifier: Apache-2.0
// The stages of a search that need no objects any more: for each watch, select its owners, find the
// cycles and the references to cut, assign patterns and statuses, store the findings, and queue the
// notifications.
//
// REQUIRES (everything here): GIL held. RUNS PYTHON: never. May throw std::bad_alloc.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "advice/rules.h"
#include "model/finding.h"
#include "model/observation.h"
#include "watch/captured_collection.h"
#include "watch/search.h"
#include "watch/site_lookup.h"

namespace cyclewatch::watch {

class FindingReporter {
  public:
    explicit FindingReporter(const advice::Rules& rules) : rules_(rules) {}

    // Call this after check_freed() or, for a scan, after check_references(). For a scan, sets
    // `captured.signatures`.
    void report(CapturedCollection& captured,
                const model::CollectionRecord& record,
                const Search& search,
                const Watches& watches);
    // Drops the queued lookups.
    void reset() { site_lookup_ = {}; }

  private:
    [[nodiscard]] std::vector<model::Finding> find(const model::Observation& observation,
                                                   const CapturedCollection& captured,
                                                   Watch& watch,
                                                   const Search& search) const;
    void log_contradictions(const CapturedCollection& captured, const Watches& watches);

    const advice::Rules& rules_;
    SiteLookup site_lookup_;
    std::set<std::string> logged_contradictions_;  // names of types
};

}  // namespace cyclewatch::watch
