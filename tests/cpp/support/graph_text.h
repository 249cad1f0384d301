// SPDX-License-Identifier: Apache-2.0
// A notation for observations in tests and benchmarks.
//
//   "A.b->B B.a->A A.w->t:owner(1024)"
//
// A word is a reference (HOLDER LABEL -> NODE) or a NODE. Labels are written as in reports. A slash
// precedes labels that start with a letter: f/closure:self->A, m/__self__->A, p/args[0]->A. A hook
// of the kind NAME is written h/hook:NAME->f. NODE is NAME with optional properties, in this order:
//   :kind           a NodeKind ("function", "list") or a PartRole ("instance_dict", "closure");
//                   "locals": a dict returned by locals() in the function =full.name
//   :owner(BYTES)   a memory owner; owner(BYTES,s1): of storage s1, which other owners may share;
//                   owner(BYTES,s1,held): a live object still holds the storage
//   =full.name      default: "m.NAME", or the kind for a container
//   !close          the method that releases the object's resources
//   @path:12        the source location
// The properties of a node are given once, anywhere in the text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "model/observation.h"

namespace cyclewatch::test_support {

// Nodes are numbered in order of appearance. A non-zero `shuffle` is the seed of a random order of
// nodes, owners, storages and references. Throws std::invalid_argument on a syntax error.
[[nodiscard]] model::Observation observe(std::string_view text, std::uint64_t shuffle = 0);

}  // namespace cyclewatch::test_support
