// SPDX-License-Identifier: Apache-2.0
// The collections of one process, few enough to keep and to draw: of a long run, one of every so
// many, from its beginning to its end.
#pragma once

#include <cstdint>
#include <vector>

#include "model/observation.h"
#include "model/report.h"

namespace cyclewatch::report {

class Timeline {
  public:
    // `limit`: most records that are kept; at least 2.
    explicit Timeline(std::size_t limit = model::kMaxCollectionRecords) : limit_(limit) {}

    void add(const model::CollectionRecord& record);

    // In the order in which they were added; the last one is always among them. Where there were
    // more than the limit, each of the others stands for equally many in a row, and is the one of
    // them that released most.
    [[nodiscard]] std::vector<model::CollectionRecord> records() const;
    [[nodiscard]] std::uint64_t omitted() const;

  private:
    void halve();
    [[nodiscard]] std::size_t room() const;

    std::size_t limit_;
    std::vector<model::CollectionRecord> kept_;
    model::CollectionRecord latest_;
    std::uint64_t added_ = 0;
    std::uint64_t each_ = 1;  // how many collections a kept record stands for
    std::uint64_t last_ = 0;  // how many the last kept one stands for so far
};

}  // namespace cyclewatch::report
