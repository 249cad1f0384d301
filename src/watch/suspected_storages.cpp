// SPDX-License-Identifier: Apache-2.0
#include "watch/suspected_storages.h"

#include <algorithm>
#include <utility>

namespace cyclewatch::watch {

void SuspectedStorages::begin(int settle) noexcept {
    ++search_;
    settle_ = static_cast<std::uint64_t>(std::max(settle, 0));
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

void SuspectedStorages::end() {
    std::erase_if(known_, [this](const auto& each) { return each.second.last != search_; });
    suspected_ = 0;
    suspected_bytes_ = 0;
    const std::map<Group, std::uint64_t> before = std::exchange(counts_, {});
    for (const auto& [identity, entry] : known_) {
        const Group group{identity.first, entry.bytes};
        ++counts_[group];
        if (!is_settled(group, entry)) {
            ++suspected_;
            suspected_bytes_ += entry.bytes;
        }
    }
    growing_.clear();
    for (const auto& [group, count] : counts_) {
        const auto earlier = before.find(group);
        if (earlier != before.end() && count > earlier->second) {
            growing_.insert(group);
        }
    }
}

}  // namespace cyclewatch::watch
