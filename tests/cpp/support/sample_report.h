// SPDX-License-Identifier: Apache-2.0
// A report made by hand: every field set, every kind of finding once. Golden files show it.
#pragma once

#include <string>

#include "model/report.h"

namespace cyclewatch::testing {

model::Report make_sample_report();

// The sample as of two processes.
model::Report make_merged_report();

// Nothing found, much watched.
model::Report make_quiet_report();

// The sample with every text replaced by `text`.
model::Report make_hostile_report(const std::string& text);

}  // namespace cyclewatch::testing
