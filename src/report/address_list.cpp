// SPDX-License-Identifier: Apache-2.0
#include "report/address_list.h"

#include <algorithm>
#include <iterator>

#include "model/enum_words.h"

namespace cyclewatch::report {

void AddressList::add(std::span<const model::LiveOwner> owners, double at) {
    for (const model::LiveOwner& owner : owners) {
        model::StorageAddresses group{.device = owner.owner.device,
                                      .bytes = owner.owner.bytes,
                                      .at = at,
                                      .category = std::string(model::word_of(owner.category))};
        for (const auto& [address, path] : owner.storages) {
            if (reachable_.size() < kMaxAddresses &&
                reachable_.emplace(owner.owner.device, address).second) {
                group.addresses.push_back(address);
                group.paths.push_back(path);
            }
        }
        if (!group.addresses.empty()) {
            groups_.push_back(std::move(group));
        }
    }
}

void AddressList::add(const DeadStorage& storage) {
    const auto belongs = [&storage](const model::StorageAddresses& group) {
        return group.signature == storage.signature && group.device == storage.device &&
               group.bytes == storage.bytes && group.at == storage.at &&
               group.freed == storage.freed;
    };
    if (groups_.empty() || !belongs(groups_.back())) {
        groups_.push_back({.device = storage.device,
                           .bytes = storage.bytes,
                           .at = storage.at,
                           .freed = storage.freed,
                           .signature = storage.signature});
    }
    groups_.back().addresses.push_back(storage.address);
}

std::optional<std::vector<model::StorageAddresses>> AddressList::take() {
    return groups_.empty() ? std::nullopt : std::optional(std::exchange(groups_, {}));
}

namespace {

void append(std::vector<model::StorageAddresses> groups, model::Report& report) {
    if (groups.empty()) {
        return;
    }
    std::vector<model::StorageAddresses>& all =
        report.addresses ? *report.addresses : report.addresses.emplace();
    std::ranges::move(groups, std::back_inserter(all));
}

}  // namespace

void append_addresses(std::span<const model::LiveOwner> owners, model::Report& report) {
    AddressList list;
    list.add(owners, report.stats.elapsed);
    append(list.take().value_or(std::vector<model::StorageAddresses>()), report);
}

void append_dead_addresses(const model::Report& scan, model::Report& report) {
    std::vector<model::StorageAddresses> dead;
    if (scan.addresses) {
        std::ranges::copy_if(*scan.addresses, std::back_inserter(dead), [](const auto& group) {
            return !group.signature.empty() && !group.freed;
        });
    }
    for (model::StorageAddresses& group : dead) {
        group.at = report.stats.elapsed;  // counted from the start of the other watch
    }
    append(std::move(dead), report);
}

void DeadStorages::add(DeadStorage storage) {
    if (storage.freed) {
        add_freed(std::move(storage));
        return;
    }
    std::pair identity(storage.device, storage.address);
    if (retained_.size() < kMaxAddresses || retained_.contains(identity)) {
        retained_.insert_or_assign(std::move(identity), std::move(storage));
    }
}

void DeadStorages::update(
    const std::function<bool(const std::string& device, std::uint64_t)>& exists, double now) {
    for (auto each = retained_.begin(); each != retained_.end();) {
        const auto next = std::next(each);
        if (!exists(each->second.device, each->second.address)) {
            each->second.freed = true;
            each->second.at = now;
            add_freed(std::move(each->second));
            retained_.erase(each);
        }
        each = next;
    }
}

void DeadStorages::append_to(AddressList& list) const {
    for (const auto& [identity, storage] : retained_) {
        list.add(storage);
    }
    for (const DeadStorage& storage : freed_) {
        list.add(storage);
    }
}

void DeadStorages::add_freed(DeadStorage storage) {
    freed_.push_back(std::move(storage));
    if (freed_.size() > kMaxAddresses) {
        freed_.pop_front();
    }
}

}  // namespace cyclewatch::report
