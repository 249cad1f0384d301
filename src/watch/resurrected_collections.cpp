// SPDX-License-Identifier: Apache-2.0
#include "watch/resurrected_collections.h"

#include <Python.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string_view>
#include <utility>

namespace cyclewatch::watch {
namespace {

constexpr std::size_t kMostKept = 64;

}  // namespace

void ResurrectedCollections::forget(const CapturedCollection& found) {
    if (kept_.empty()) {
        return;
    }
    std::set<std::pair<std::string_view, std::uint64_t>> storages;
    for (const PendingOwner& owner : found.owners) {
        storages.emplace(owner.reading.device, owner.reading.storage);
    }
    std::erase_if(kept_, [&](const ResurrectedCollection& each) {
        return std::ranges::any_of(each.captured->owners, [&](const PendingOwner& owner) {
            return storages.contains({owner.reading.device, owner.reading.storage});
        });
    });
}

void ResurrectedCollections::keep(std::unique_ptr<CapturedCollection> captured,
                                  const model::CollectionRecord& record,
                                  const Search& search,
                                  const Watches& watches) {
    if (kept_.size() >= kMostKept) {
        for (const auto& watch : watches) {
            watch->skip("owners resurrected by a finalizer");
        }
        return;
    }
    // Tracked weak references would be part of later collections, and change when these run.
    for (const PendingOwner& owner : captured->owners) {
        if (owner.weakref && Py_REFCNT(owner.weakref.get()) == 1) {
            PyObject_GC_UnTrack(owner.weakref.get());
        }
    }
    ResurrectedCollection& added = kept_.emplace_back();
    added.record = record;
    added.record.note = model::kFreedLater;
    added.record.step = watches.empty() ? -1 : watches.front()->step();
    added.search = search;
    added.captured = std::move(captured);
    added.watches = watches;
}

std::optional<ResurrectedCollection> ResurrectedCollections::take_freed() {
    const auto freed = std::ranges::find_if(
        kept_, [](const ResurrectedCollection& each) { return freed_resurrected(*each.captured); });
    if (freed == kept_.end()) {
        return std::nullopt;
    }
    ResurrectedCollection taken = std::move(*freed);
    kept_.erase(freed);
    return taken;
}

}  // namespace cyclewatch::watch
