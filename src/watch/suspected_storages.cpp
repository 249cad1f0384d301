// SPDX-License-Identifier: Apache-2.0
#include "watch/suspected_storages.h"

#include <algorithm>
#include <utility>

namespace cyclewatch::watch {

void SuspectedStorages::begin(int settle) noexcept {
    ++search_;
    settle_ = static_cast<std::uint64_t>(std::max(settle, 0));
    growing_.clear();
    // The address of a freed storage may have been reused.
    std::erase_if(known_, [](const auto& each) {
        return each.second.storage != nullptr && each.second.storage->released();
    });
}

bool SuspectedStorages::is_settled(device::OwnerReading& reading) {
    const auto [found, is_new] = known_.try_emplace({reading.device, reading.storage});
    Entry& entry = found->second;
    if (is_new) {
        entry.bytes = reading.bytes;
        entry.first = search_;
    }
    entry.last = search_;
    if (is_settled({reading.device, entry.bytes}, entry)) {
        return true;
    }
    if (entry.storage == nullptr) {
        entry.storage = std::move(reading.weak_storage);
    }
    return false;
}

bool SuspectedStorages::end() {
    std::erase_if(known_, [this](const auto& each) { return each.second.last != search_; });
    const std::map<Group, std::uint64_t> before = std::exchange(counts_, {});
    for (const auto& [identity, entry] : known_) {
        ++counts_[{identity.first, entry.bytes}];
    }
    for (const auto& [group, count] : counts_) {
        const auto earlier = before.find(group);
        if (earlier != before.end() && count > earlier->second) {
            growing_.insert(group);
        }
    }
    suspected_ = 0;
    suspected_bytes_ = 0;
    bool has_grown = false;
    for (const auto& [identity, entry] : known_) {
        if (!is_settled({identity.first, entry.bytes}, entry)) {
            ++suspected_;
            suspected_bytes_ += entry.bytes;
        } else {
            has_grown = has_grown || search_ - entry.first < settle_;
        }
    }
    return has_grown;
}

}  // namespace cyclewatch::watch
