// SPDX-License-Identifier: Apache-2.0
// The sample reports of the golden files.
#pragma once

#include <string>

#include "model/report.h"

namespace cyclewatch::testing {

// tests/golden/report.json. Every field is set: add a new field to the file by hand.
model::Report make_sample_report();

// The sample with a second process.
model::Report make_merged_report();

// A report without findings.
model::Report make_quiet_report();

// The sample with every string replaced by `text`.
model::Report make_hostile_report(const std::string& text);

}  // namespace cyclewatch::testing
