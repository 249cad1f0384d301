// SPDX-License-Identifier: Apache-2.0
// How what was found in one collection joins what was found before.
#pragma once

#include "model/finding.h"
#include "model/observation.h"

namespace cyclewatch::report {

// Says when `finding` was met: in the collection of `record`, for the first and the last time.
void stamp(model::Finding& finding, const model::CollectionRecord& record);

// Adds `later` to `stored`; both have the same signature. Numbers add up, owners that are equal
// are counted together, and the heavier occurrence is the one that is shown.
void merge(model::Finding& stored, model::Finding later);

}  // namespace cyclewatch::report
