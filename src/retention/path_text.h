// SPDX-License-Identifier: Apache-2.0
// Names the objects and references of a path. REQUIRES: GIL held. RUNS PYTHON: never. Creates no
// Python objects. May throw std::bad_alloc.
#pragma once

#include <cstdint>
#include <string_view>

#include "model/retention.h"
#include "retention/heap_graph.h"
#include "retention/path_search.h"
#include "retention/roots.h"

namespace cyclewatch::retention {

// Whether to show dict keys that do not occur in the source code. They may be user data.
enum class Keys : std::uint8_t { shown, hidden };

// Dicts of attributes, closure tuples, cells and the dicts of an nn.Module are not objects of the
// path: their references are those of the object that they are part of.
[[nodiscard]] model::RetentionPath describe(const HeapGraph& graph,
                                            const Roots& roots,
                                            const RawPath& path,
                                            Keys keys);

// Continues a path with an attribute of the object that only its library can read, such as ".grad".
// It is unknown whether the cut frees the value.
void append(model::RetentionPath& path, std::string_view label, std::string_view target);

}  // namespace cyclewatch::retention
