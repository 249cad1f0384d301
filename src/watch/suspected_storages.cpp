// SPDX-License-Identifier: Apache-2.0
#include "watch/suspected_storages.h"

#include <algorithm>

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
    if (is_settled(entry)) {
        return true;
    }
    if (entry.storage == nullptr) {
        entry.storage = std::move(reading.weak_storage);
    }
    return false;
}

void SuspectedStorages::end() noexcept {
    std::erase_if(known_, [this](const auto& each) { return each.second.last != search_; });
}

std::uint64_t SuspectedStorages::count() const noexcept {
    return static_cast<std::uint64_t>(std::ranges::count_if(
        known_, [this](const auto& each) { return !is_settled(each.second); }));
}

std::uint64_t SuspectedStorages::bytes() const noexcept {
    std::uint64_t bytes = 0;
    for (const auto& [identity, entry] : known_) {
        bytes += is_settled(entry) ? 0 : entry.bytes;
    }
    return bytes;
}

}  // namespace cyclewatch::watch
