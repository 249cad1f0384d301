// SPDX-License-Identifier: Apache-2.0
// How what was found in one collection joins what was found before.
#pragma once

#include <vector>

#include "model/finding.h"
#include "model/observation.h"

namespace cyclewatch::report {

// Says when `finding` was met: in the collection of `record`, for the first and the last time.
void stamp(model::Finding& finding, const model::CollectionRecord& record);

// Adds `later` to `stored`; both have the same signature. Numbers add up, owners that are equal
// are counted together, sightings by the same process are one, and the heavier occurrence is the
// one that is shown. Where two readers disagree in their verdicts it is unclear; notes are kept
// below each other.
void merge(model::Finding& stored, model::Finding later);

// The order in which a report lists findings.
void sort_heaviest_first(std::vector<model::Finding>& findings);

}  // namespace cyclewatch::report
