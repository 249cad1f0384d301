// SPDX-License-Identifier: Apache-2.0
// Bounded samples of what happened during a run.
#pragma once

#include "model/memory_account.h"
#include "model/observation.h"
#include "report/even_sample.h"
#include "report/usage_samples.h"

namespace cyclewatch::report {

// The collection records of one process.
using Timeline = EvenSample<model::CollectionRecord,
                            &model::CollectionRecord::released_bytes,
                            &model::CollectionRecord::number>;

// The memory of a device in the steps, and in the censuses.
using StepSamples =
    EvenSample<model::StepSample, &model::StepSample::in_use, &model::StepSample::number>;
using CensusSamples =
    EvenSample<model::CategorySizes, &model::CategorySizes::total, &model::CategorySizes::at>;

}  // namespace cyclewatch::report
