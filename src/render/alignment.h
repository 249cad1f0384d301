// SPDX-License-Identifier: Apache-2.0
// Estimates what the collections of a job cost each training step. If every rank waits for the
// others in each step, such as in an all-reduce, a step takes as much longer as the slowest rank's
// collections in it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "model/report.h"

namespace cyclewatch::render {

// In seconds per step, over the steps that all processes have counted.
struct Alignment {
    double cost = 0;     // of the collections, at the steps at which they ran
    double aligned = 0;  // the same collections, if all processes collected at the same steps
    double step = 0;     // the duration of a step
    std::size_t processes = 0;
};

// nullopt unless two or more processes have counted steps in common.
[[nodiscard]] std::optional<Alignment> alignment_of(const model::Report& report);

// "Collections cost 680 ms of each 17.6 s step, because the ranks collect at different steps ...";
// "" if there is nothing to say.
[[nodiscard]] std::string alignment_sentence(const model::Report& report);

}  // namespace cyclewatch::render
