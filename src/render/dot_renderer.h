// SPDX-License-Identifier: Apache-2.0
// The pictures of all findings as DOT, one cluster per finding, for the reader's own Graphviz.
#pragma once

#include <string>

#include "model/report.h"

namespace cyclewatch::render {

// One call at a time: cgraph keeps process-wide state. A child of fork() finds it free.
[[nodiscard]] std::string render_dot(const model::Report& report);

}  // namespace cyclewatch::render
