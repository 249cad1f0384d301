// SPDX-License-Identifier: Apache-2.0
// Storages that several findings lead to: whom they are shared with, and to whom they are
// attributed where bytes of findings are added up.
#pragma once

#include <cstdint>
#include <span>

#include "analysis/finding_builder.h"
#include "analysis/representatives.h"
#include "analysis/retained_size.h"

namespace cyclewatch::analysis {

// Completes the byte counts of all findings of one collection. `builder_of` has, for each
// component, the index of its finding in `builders`, or kNone.
//
// A storage that only cycles of one finding lead to becomes held by that finding. Of every other
// shared storage, each finding learns how many findings share it, and the first of them by
// model::ranks_before() is attributed its bytes, unless one of them holds it.
// Call once, after all occurrences were counted.
void settle_shared_storages(std::span<FindingBuilder> builders,
                            std::span<const std::uint32_t> builder_of,
                            const RetainedSize& held,
                            const Representatives& representatives);

}  // namespace cyclewatch::analysis
