// SPDX-License-Identifier: Apache-2.0
// Reduces a path of objects to the references that a programmer would write. REQUIRES: GIL held.
// RUNS PYTHON: never. Creates no Python objects. May throw std::bad_alloc.
#pragma once

#include <vector>

#include "retention/heap_graph.h"
#include "retention/path_names.h"
#include "retention/path_search.h"
#include "retention/reference_labels.h"
#include "retention/roots.h"

namespace cyclewatch::retention {

// Attribute dicts, closure tuples, cells and the dicts of an nn.Module are merged into the objects
// to which they belong. `root`: null for an anonymous root.
[[nodiscard]] std::vector<Step> fold(const HeapGraph& graph,
                                     const Root* root,
                                     const RawPath& path,
                                     Labels& labels);

}  // namespace cyclewatch::retention
