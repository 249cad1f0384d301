// SPDX-License-Identifier: Apache-2.0
// DOT through cgraph: one cluster per finding, the condensed picture of each, never raw garbage.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"
#include "model/report.h"
#include "render/graphviz_handles.h"

namespace cyclewatch::render {

// Layout time grows much faster than the graph; beyond these a picture helps nobody anyway.
inline constexpr std::size_t kMaxDrawnItems = 60;
inline constexpr std::size_t kMaxDrawnArrows = 150;
inline constexpr std::size_t kMaxDrawnFindings = 50;

[[nodiscard]] base::Result<std::string> render_dot(const model::Report& report);

// Adds the picture of `finding` to `graph` (a graph or a cluster of one). Names of nodes and
// ids in the drawing begin with "f<rank>".
void add_picture(Agraph_t* graph, const model::Finding& finding, std::size_t rank);

// The attributes that all pictures share. `root` must be a root graph.
void set_picture_style(Agraph_t* root);

}  // namespace cyclewatch::render
