// SPDX-License-Identifier: Apache-2.0
// Merges findings of several collections or processes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/finding.h"
#include "model/observation.h"

namespace cyclewatch::report {

// Sets the times, collection and process of a `finding` that was found in one collection.
void stamp(model::Finding& finding, const model::CollectionRecord& record);

// Merges `later` into `stored`, a finding with the same cause. `stored` keeps its signature and the
// description of the larger occurrence. Equal owners are counted together; an unknown allocation
// site matches any site. Contradictory verdicts become `unclear`; notes are concatenated.
void merge(model::Finding& stored, model::Finding later);

// Allocation sites of equal owners, looked up after their finding was stored.
struct PlacedOwners {
    model::OwnerSummary owner;                   // as stored, without a site
    std::map<std::string, std::uint64_t> sites;  // "path:line" -> number of owners
};

// Splits the matching owners of `stored` by allocation site. Equal owners that were added since the
// lookup are counted with them if every site was found.
void place(model::Finding& stored, const PlacedOwners& placed);

}  // namespace cyclewatch::report
