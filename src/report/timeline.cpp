// SPDX-License-Identifier: Apache-2.0
#include "report/timeline.h"

#include <utility>

namespace cyclewatch::report {
namespace {

const model::CollectionRecord& heavier(const model::CollectionRecord& one,
                                       const model::CollectionRecord& other) {
    return other.released_bytes > one.released_bytes ? other : one;
}

}  // namespace

void Timeline::add(const model::CollectionRecord& record) {
    while (last_ == each_ && kept_.size() >= room()) {
        halve();
    }
    if (kept_.empty() || last_ == each_) {
        kept_.push_back(record);
        last_ = 1;
    } else {
        kept_.back() = heavier(kept_.back(), record);
        ++last_;
    }
    latest_ = record;
    ++added_;
}

// Where records stand for several collections, the latest may come on top.
std::size_t Timeline::room() const {
    return each_ == 1 ? limit_ : limit_ - 1;
}

void Timeline::halve() {
    std::vector<model::CollectionRecord> fewer;
    fewer.reserve(limit_);
    for (std::size_t i = 0; i + 1 < kept_.size(); i += 2) {
        fewer.push_back(heavier(kept_[i], kept_[i + 1]));
    }
    each_ *= 2;
    last_ = each_;
    if (kept_.size() % 2 == 1) {
        fewer.push_back(std::move(kept_.back()));
        last_ = each_ / 2;
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
