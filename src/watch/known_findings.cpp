// SPDX-License-Identifier: Apache-2.0
#include "watch/known_findings.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "device/device_selection.h"
#include "model/ids.h"
#include "report/address_list.h"

namespace cyclewatch::watch {
namespace {

using base::WideHash;

constexpr std::uint32_t kNone = UINT32_MAX;

// True if add_owners() would hash the same strings for both owners.
bool have_equal_texts(const PendingOwner& a, const PendingOwner& b) {
    return a.reading.device == b.reading.device && a.reading.shape == b.reading.shape &&
           a.reading.dtype == b.reading.dtype && a.is_part == b.is_part &&
           (!a.is_part || a.type == b.type);
}

struct StorageNumber {
    std::uint32_t cluster = kNone;
    std::uint32_t number = 0;  // in its cluster
};

// Adds the owners of each cluster to the hash of the cluster. Returns false if clusters share a
// storage, because their findings then depend on each other.
bool add_owners(const capture::GraphIdentity& identity,
                const CapturedCollection& collection,
                std::vector<WideHash>& clusters,
                std::vector<StorageNumber>& storages) {
    storages.resize(collection.observation.storages.size());
    std::vector<std::uint32_t> numbered(clusters.size(), 0);
    const PendingOwner* previous = nullptr;  // most owners have the texts of the previous one
    WideHash texts;
    for (const PendingOwner& owner : collection.owners) {
        const capture::GraphIdentity::Owner place = identity.owners[owner.object];
        StorageNumber& storage = storages[owner.storage];
        if (storage.cluster == kNone) {
            storage = {place.cluster, numbered[place.cluster]++};
        } else if (storage.cluster != place.cluster) {
            return false;
        }
        if (previous == nullptr || !have_equal_texts(owner, *previous)) {
            texts = WideHash()
                        .add(owner.reading.device)
                        .add(owner.reading.shape)
                        .add(owner.reading.dtype)
                        .add(owner.is_part ? owner.type : std::string_view());
        }
        previous = &owner;
        clusters[place.cluster]
            .add(std::uint64_t{place.number} << 32 | storage.number)
            .add(collection.observation.storages[owner.storage].bytes)
            .add(texts.high)
            .add(texts.low);
    }
    return true;
}

std::vector<std::uint64_t> keys_of(const CapturedCollection& collection,
                                   std::span<const WideHash> clusters,
                                   std::span<const StorageNumber> storages) {
    const auto is_on_cuda = [](const model::Storage& storage) {
        return device::cuda_number(storage.device).has_value();
    };
    std::vector<std::uint64_t> keys;
    if (std::ranges::any_of(collection.observation.storages, is_on_cuda)) {
        for (const StorageNumber& each : storages) {
            keys.push_back(
                each.cluster == kNone ? 0 : WideHash(clusters[each.cluster]).add(each.number).low);
        }
    }
    return keys;
}

// Divides the counts and bytes of a finding by `copies`, the number of equal clusters that the
// finding represents. Returns nullopt if a number is not divisible.
std::optional<model::Finding> of_one_copy(model::Finding finding, std::uint64_t copies) {
    bool divisible = true;
    const auto divide = [&](std::uint64_t& number) {
        divisible = divisible && number % copies == 0;
        number /= copies;
    };
    divide(finding.occurrences);
    divide(finding.retained_bytes);
    divide(finding.shared_bytes);
    divide(finding.attributed_bytes);
    for (model::OwnerSummary& owner : finding.owners) {
        divide(owner.count);
        owner.storages.clear();
    }
    for (model::Variant& variant : finding.variants) {
        divide(variant.occurrences);
        divide(variant.bytes);
    }
    return divisible ? std::optional(std::move(finding)) : std::nullopt;
}

void multiply(model::Finding& finding, std::uint64_t copies) {
    finding.occurrences *= copies;
    finding.retained_bytes *= copies;
    finding.shared_bytes *= copies;
    finding.attributed_bytes *= copies;
    for (model::OwnerSummary& owner : finding.owners) {
        owner.count *= copies;
    }
    for (model::Variant& variant : finding.variants) {
        variant.occurrences *= copies;
        variant.bytes *= copies;
    }
}

}  // namespace

GarbageShape shape_of(const capture::GraphIdentity& identity,
                      const CapturedCollection& collection) {
    std::vector<WideHash> clusters = identity.clusters;
    std::vector<StorageNumber> storages;
    if (clusters.empty() || std::ranges::any_of(clusters, &WideHash::is_zero) ||
        !add_owners(identity, collection, clusters, storages)) {
        return {};
    }
    std::vector<std::uint64_t> keys = keys_of(collection, clusters, storages);
    const auto differs = [&](const WideHash& other) { return other != clusters.front(); };
    if (std::ranges::none_of(clusters, differs)) {
        GarbageShape shape{clusters.front(), clusters.size(), {}, std::move(keys)};
        shape.copy_of.reserve(identity.owners.size());
        for (const capture::GraphIdentity::Owner& owner : identity.owners) {
            shape.copy_of.push_back(owner.cluster);
        }
        return shape;
    }
    // The findings of different clusters may have been merged, so the clusters cannot be counted
    // separately.
    std::ranges::sort(clusters);
    WideHash all;
    for (const WideHash& cluster : clusters) {
        all.add(cluster.high).add(cluster.low);
    }
    return {all, 1, std::vector<std::uint32_t>(identity.owners.size(), 0), std::move(keys)};
}

FreedCopies freed_copies(const CapturedCollection& collection) {
    constexpr char kFreed = 1;
    constexpr char kSurvived = 2;
    const GarbageShape& shape = collection.shape;
    std::vector<char> states(shape.copies, 0);
    for (const PendingOwner& owner : collection.owners) {
        if (owner.object < shape.copy_of.size()) {
            const bool freed = owner.freed && owner.storage_freed &&
                               collection.observation.storages[owner.storage].released;
            char& state = states[shape.copy_of[owner.object]];
            state = static_cast<char>(state | (freed ? kFreed : kSurvived));
        }
    }
    return {static_cast<std::uint64_t>(std::ranges::count(states, kFreed)),
            static_cast<std::uint64_t>(std::ranges::count(states, kFreed | kSurvived))};
}

void KnownFindings::use_rules(std::uint64_t version) noexcept {
    if (version != rules_version_) {
        by_shape_.clear();
        rules_version_ = version;
    }
}

bool KnownFindings::contains(const GarbageShape& shape, bool in_any_number) const {
    const auto known = by_shape_.find(shape.key);
    return shape.copies > 0 && known != by_shape_.end() && !known->second.rejected &&
           (in_any_number || shape.copies <= known->second.most_copies);
}

std::vector<model::Finding> KnownFindings::findings(const GarbageShape& shape,
                                                    std::uint64_t copies) const {
    std::vector<model::Finding> findings = by_shape_.at(shape.key).findings;
    for (model::Finding& finding : findings) {
        multiply(finding, copies);
    }
    return findings;
}

std::string KnownFindings::signature_of(const GarbageShape& shape, std::size_t storage) const {
    const auto known = by_shape_.find(shape.key);
    if (known == by_shape_.end() || storage >= shape.storage_keys.size()) {
        return {};
    }
    const auto found = known->second.by_storage.find(shape.storage_keys[storage]);
    return found == known->second.by_storage.end() ? "" : found->second;
}

void KnownFindings::add(const GarbageShape& shape,
                        const std::vector<model::Finding>& findings,
                        const StorageSignatures& signatures) {
    if (shape.copies == 0) {
        return;
    }
    Entry entry{.rejected = false, .most_copies = shape.copies, .findings = {}, .by_storage = {}};
    for (const model::Finding& finding : findings) {
        std::optional<model::Finding> one = of_one_copy(finding, shape.copies);
        if (!one) {
            return;
        }
        entry.findings.push_back(*std::move(one));
    }
    for (std::size_t i = 0; i < std::min(signatures.size(), shape.storage_keys.size()); ++i) {
        if (signatures[i] != nullptr && entry.by_storage.size() < report::kMaxAddresses) {
            entry.by_storage.emplace(shape.storage_keys[i], *signatures[i]);
        }
    }
    if (by_shape_.size() >= kMaxShapes) {
        by_shape_.clear();
    }
    Entry& known = by_shape_.try_emplace(shape.key, std::move(entry)).first->second;
    known.most_copies = std::max(known.most_copies, shape.copies);
}

void KnownFindings::reject(const GarbageShape& shape) {
    by_shape_[shape.key] = {.rejected = true, .most_copies = 0, .findings = {}, .by_storage = {}};
}

}  // namespace cyclewatch::watch
