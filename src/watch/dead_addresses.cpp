// SPDX-License-Identifier: Apache-2.0
#include "watch/dead_addresses.h"

#include <cstddef>
#include <string>
#include <unordered_map>

#include "capture/graph_capture.h"
#include "device/device_selection.h"

namespace cyclewatch::watch {
namespace {

// For each storage, the signature of its finding; null if that is not known.
class Signatures {
  public:
    Signatures(const CapturedCollection& captured, const std::vector<model::Finding>& findings)
        : captured_(captured),
          by_storage_(captured.observation.storages.size(),
                      findings.size() == 1 ? &findings.front().signature : nullptr) {
        if (findings.size() < 2 || captured.is_known) {
            return;
        }
        for (const model::Finding& finding : findings) {
            for (const model::OwnerSummary& owner : finding.owners) {
                for (const model::StorageShare& share : owner.storages) {
                    by_storage_[model::index_of(share.storage)] = &finding.signature;
                }
            }
        }
        if (captured.repeats.empty()) {
            return;
        }
        for (const model::DeviceOwner& owner : captured.observation.owners) {
            by_node_.emplace(owner.node, by_storage_[model::index_of(owner.storage)]);
        }
    }

    [[nodiscard]] const std::string* of(const PendingOwner& owner) const {
        const std::string* const listed = by_storage_[owner.storage];
        if (listed != nullptr || by_node_.empty()) {
            return listed;
        }
        const capture::OwnerPlace& place = captured_.places[owner.object];
        if (place.kind != capture::OwnerPlace::Kind::repeated) {
            return nullptr;
        }
        // Only one of several equal clusters is captured.
        const auto twin = by_node_.find(captured_.repeats[place.repeat].twin);
        return twin == by_node_.end() ? nullptr : twin->second;
    }

  private:
    const CapturedCollection& captured_;
    std::vector<const std::string*> by_storage_;
    std::unordered_map<model::NodeId, const std::string*> by_node_;
};

}  // namespace

StorageSignatures storage_signatures(const CapturedCollection& captured,
                                     const std::vector<model::Finding>& findings) {
    if (captured.shape.storage_keys.empty() || findings.size() < 2) {
        return {};
    }
    const Signatures signatures(captured, findings);
    StorageSignatures found(captured.observation.storages.size(), nullptr);
    for (const PendingOwner& owner : captured.owners) {
        if (found[owner.storage] == nullptr) {
            found[owner.storage] = signatures.of(owner);
        }
    }
    return found;
}

std::vector<report::DeadStorage> dead_storages(const CapturedCollection& captured,
                                               const std::vector<model::Finding>& findings,
                                               const Watch& watch,
                                               const model::CollectionRecord& record) {
    std::vector<report::DeadStorage> dead;
    const Signatures signatures(captured, findings);
    std::vector<bool> is_listed(captured.observation.storages.size(), false);
    for (const PendingOwner& owner : captured.owners) {
        const model::Storage& storage = captured.observation.storages[owner.storage];
        if (dead.size() == report::kMaxAddresses) {
            break;
        }
        if (!owner.freed || !storage.released || is_listed[owner.storage] ||
            !owner.reading.has_address || !device::cuda_number(storage.device) ||
            !watch.wants(storage.device, captured.accelerator_usable) ||
            (!record.scan && watch.reported().contains(storage.device, owner.reading.storage))) {
            continue;
        }
        const std::string* const found = signatures.of(owner);
        const std::string signature =
            found != nullptr    ? *found
            : captured.is_known ? watch.known().signature_of(captured.shape, owner.storage)
                                : "";
        if (!signature.empty()) {
            is_listed[owner.storage] = true;
            dead.push_back({.device = storage.device,
                            .address = owner.reading.storage,
                            .bytes = storage.bytes,
                            .at = record.started_at + record.duration,
                            .freed = !record.scan,
                            .signature = signature});
        }
    }
    return dead;
}

}  // namespace cyclewatch::watch
