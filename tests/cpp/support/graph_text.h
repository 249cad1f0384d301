// SPDX-License-Identifier: Apache-2.0
// Observations in one line of text, for tests and benchmarks.
//
//   "A.b->B B.a->A A.w->t:owner(1024)"
//
// A word is a reference HOLDER LABEL -> NODE, or a NODE alone. Labels are those of reports; one
// that starts with a letter is set off by a slash: f/closure:self->A, m/__self__->A, p/args[0]->A.
// NODE is NAME, then in this order and each optional:
//   :kind           a NodeKind ("function", "list") or a PartRole ("instance_dict", "closure");
//                   "locals": a dict that locals() made, of the function =full.name
//   :owner(BYTES)   an owner of its own storage; owner(BYTES,s1): of the storage s1, which
//                   others may share; owner(BYTES,s1,held): something alive holds it still
//   =full.name      else "m.NAME", or the kind for a container
//   !close          the method by which its users say that they are done with it
//   @path:12        where it stands
// What a node is needs to be said once, anywhere.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "model/observation.h"

namespace cyclewatch::test_support {

// Nodes are numbered as they appear; `shuffle` != 0 numbers them, and lists owners, storages and
// each node's references, in another order. Throws std::invalid_argument on a word it does not
// understand.
[[nodiscard]] model::Observation observe(std::string_view text, std::uint64_t shuffle = 0);

// The label in a report's text, as a label of the graph.
[[nodiscard]] model::EdgeLabel parse_label(std::string_view text, model::StringTable& strings);

}  // namespace cyclewatch::test_support
