// SPDX-License-Identifier: Apache-2.0
// Names the objects and references of a path. REQUIRES: GIL held. RUNS PYTHON: never. Creates no
// Python objects. May throw std::bad_alloc.
#pragma once

#include <string_view>

#include "model/retention.h"
#include "retention/heap_graph.h"
#include "retention/path_search.h"
#include "retention/reference_labels.h"
#include "retention/roots.h"

namespace cyclewatch::retention {

// Describes a path as text. Attribute dicts, closure tuples, cells and the dicts of an nn.Module
// are not shown as objects; their references are shown as references of the object to which they
// belong.
[[nodiscard]] model::RetentionPath describe(const HeapGraph& graph,
                                            const Roots& roots,
                                            const RawPath& path,
                                            Labels& labels,
                                            bool is_small_view = false);

// Extends a path by an attribute that only the object's library can read, such as ".grad". The
// attribute becomes the cut. The result of a method, such as ".indices()", cannot be removed from
// its object: the cut remains the one that frees the object. `frees`: true if the value has no
// other holders.
void append(model::RetentionPath& path,
            std::string_view label,
            std::string_view target,
            bool frees);

}  // namespace cyclewatch::retention
