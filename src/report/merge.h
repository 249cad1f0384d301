// SPDX-License-Identifier: Apache-2.0
// How what was found in one collection joins what was found before.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/finding.h"
#include "model/observation.h"

namespace cyclewatch::report {

// Says when `finding` was met: in the collection of `record`, for the first and the last time.
void stamp(model::Finding& finding, const model::CollectionRecord& record);

// Adds `later` to `stored`; both are the same mistake, and the signature stays. Numbers add up,
// owners that are equal are counted together (one whose allocation site is not known equals those
// of any), occurrences in the same process are added up, and the larger occurrence is the one that
// is shown. Where two readers disagree in their verdicts it is unclear; notes are kept below each
// other.
void merge(model::Finding& stored, model::Finding later);

// Where equal owners of a finding were allocated, as was learnt after it had been stored.
struct PlacedOwners {
    model::OwnerSummary owner;                   // as it was stored, without a site
    std::map<std::string, std::uint64_t> sites;  // "path:line" -> how many of its `count`
};

// Lists the owners of `stored` by those sites. What equal ones it met meanwhile goes with them.
void place(model::Finding& stored, const PlacedOwners& placed);

// Sorts by model::ranks_before().
void sort_largest_first(std::vector<model::Finding>& findings);

}  // namespace cyclewatch::report
