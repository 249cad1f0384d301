// SPDX-License-Identifier: Apache-2.0
#include "watch/reported_storages.h"

#include "compat/weak_reference.h"

namespace cyclewatch::watch {

void ReportedStorages::add(device::OwnerReading& reading,
                           python::OwnedRef owner,
                           model::Collected state) {
    Entry entry{std::move(reading.weak_storage), std::move(owner), state};
    const auto [place, added] =
        known_.try_emplace({reading.device, reading.storage}, std::move(entry));
    counts_[static_cast<std::size_t>(state)] += added ? 1 : 0;
}

bool ReportedStorages::is_freed(const Entry& entry) noexcept {
    if (entry.storage) {
        return entry.storage->released();
    }
    return !entry.owner || cyclewatch_weakref_is_dead(entry.owner.get()) != 0;
}

void ReportedStorages::forget_freed() noexcept {
    std::erase_if(known_, [this](const auto& entry) {
        const bool freed = is_freed(entry.second);
        counts_[static_cast<std::size_t>(entry.second.state)] -= freed ? 1 : 0;
        return freed;
    });
}

}  // namespace cyclewatch::watch
