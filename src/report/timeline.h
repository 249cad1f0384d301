// SPDX-License-Identifier: Apache-2.0
// A bounded sample of the collection records of one process, spread evenly over the run.
#pragma once

#include <cstdint>
#include <vector>

#include "model/observation.h"
#include "model/report.h"

namespace cyclewatch::report {

class Timeline {
  public:
    // `limit`: maximum number of records, at least 2.
    explicit Timeline(std::size_t limit = model::kMaxCollectionRecords) : limit_(limit) {}

    void add(const model::CollectionRecord& record);

    // The stored records in order, including the latest. If the limit is exceeded, consecutive
    // records form groups of equal size, and only the record with the most released bytes in each
    // group is stored.
    [[nodiscard]] std::vector<model::CollectionRecord> records() const;
    [[nodiscard]] std::uint64_t omitted() const;

  private:
    void halve();
    [[nodiscard]] std::size_t room() const;

    std::size_t limit_;
    std::vector<model::CollectionRecord> kept_;
    model::CollectionRecord latest_;
    std::uint64_t added_ = 0;
    std::uint64_t group_ = 1;       // collections per kept record
    std::uint64_t last_group_ = 0;  // collections of the last kept record so far
};

}  // namespace cyclewatch::report
