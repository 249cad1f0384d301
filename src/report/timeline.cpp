// SPDX-License-Identifier: Apache-2.0
#include "report/timeline.h"

#include <utility>

namespace cyclewatch::report {
namespace {

const model::CollectionRecord& larger(const model::CollectionRecord& one,
                                      const model::CollectionRecord& other) {
    return other.released_bytes > one.released_bytes ? other : one;
}

}  // namespace

void Timeline::add(const model::CollectionRecord& record) {
    while (last_group_ == group_ && kept_.size() >= room()) {
        halve();
    }
    if (kept_.empty() || last_group_ == group_) {
        kept_.push_back(record);
        last_group_ = 1;
    } else {
        kept_.back() = larger(kept_.back(), record);
        ++last_group_;
    }
    latest_ = record;
    ++added_;
}

// The maximum size of kept_: one less than the limit if records() may append the latest record.
std::size_t Timeline::room() const {
    return group_ == 1 ? limit_ : limit_ - 1;
}

void Timeline::halve() {
    std::vector<model::CollectionRecord> fewer;
    fewer.reserve(limit_);
    for (std::size_t i = 0; i + 1 < kept_.size(); i += 2) {
        fewer.push_back(larger(kept_[i], kept_[i + 1]));
    }
    group_ *= 2;
    last_group_ = group_;
    if (kept_.size() % 2 == 1) {
        fewer.push_back(std::move(kept_.back()));
        last_group_ = group_ / 2;
    }
    kept_ = std::move(fewer);
}

std::vector<model::CollectionRecord> Timeline::records() const {
    std::vector<model::CollectionRecord> records = kept_;
    if (!records.empty() && records.back().number != latest_.number) {
        records.push_back(latest_);
    }
    return records;
}

std::uint64_t Timeline::omitted() const {
    return added_ - records().size();
}

}  // namespace cyclewatch::report
