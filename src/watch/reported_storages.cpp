// SPDX-License-Identifier: Apache-2.0
#include "watch/reported_storages.h"

#include <algorithm>

#include "compat/object_layout.h"

namespace cyclewatch::watch {

void ReportedStorages::add(device::OwnerReading& reading,
                           python::OwnedRef owner,
                           model::Collected state,
                           std::vector<std::string> signatures) {
    Entry entry{std::move(reading.weak_storage),
                std::move(owner),
                state,
                reading.bytes,
                std::move(signatures)};
    known_.try_emplace({reading.device, reading.storage}, std::move(entry));
}

void ReportedStorages::add_saved(device::OwnerReading& reading,
                                 model::Collected state,
                                 std::vector<std::string> signatures) {
    Entry entry{
        std::move(reading.weak_storage), {}, state, reading.bytes, std::move(signatures), true};
    known_.try_emplace({reading.device, reading.storage}, std::move(entry));
}

bool ReportedStorages::is_freed(const Entry& entry) noexcept {
    if (entry.storage) {
        return entry.storage->released();
    }
    return !entry.owner || cyclewatch_weakref_is_dead(entry.owner.get()) != 0;
}

std::uint64_t ReportedStorages::forget_freed() noexcept {
    std::uint64_t bytes = 0;
    std::erase_if(known_, [this, &bytes](const auto& entry) {
        if (!is_freed(entry.second)) {
            return false;
        }
        bytes += entry.second.bytes;
        changed_ = true;
        return true;
    });
    return bytes;
}

std::vector<ReportedStorage> ReportedStorages::list() const {
    std::vector<ReportedStorage> storages;
    storages.reserve(known_.size());
    for (const auto& [identity, entry] : known_) {
        storages.push_back({.device = identity.first,
                            .storage = identity.second,
                            .bytes = entry.bytes,
                            .state = entry.state,
                            .signatures = entry.signatures});
    }
    return storages;
}

std::map<std::string, std::uint64_t> ReportedStorages::sizes() const {
    std::map<std::string, std::uint64_t> sizes;
    for (const auto& [identity, entry] : known_) {
        sizes[identity.first] += entry.bytes;
    }
    return sizes;
}

std::map<std::string, ReportedStorages::Remaining> ReportedStorages::remaining() const {
    std::map<std::string, Remaining> remaining;
    for (const auto& [identity, entry] : known_) {
        if (entry.is_saved) {
            continue;
        }
        for (const std::string& signature : entry.signatures) {
            Remaining& of_signature = remaining[signature];
            of_signature.state = std::max(of_signature.state, entry.state);
            of_signature.bytes += entry.bytes;
        }
    }
    return remaining;
}

}  // namespace cyclewatch::watch
