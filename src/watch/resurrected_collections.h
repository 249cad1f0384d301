// SPDX-License-Identifier: Apache-2.0
// The collections whose owners were resurrected by a finalizer. They are reported when these owners
// have been freed.
//
// REQUIRES (everything here): GIL held. RUNS PYTHON: never. May throw std::bad_alloc.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "model/observation.h"
#include "watch/captured_collection.h"
#include "watch/search.h"

namespace cyclewatch::watch {

struct ResurrectedCollection {
    std::unique_ptr<CapturedCollection> captured;
    model::CollectionRecord record;
    Search search;
    Watches watches;  // those that were active
};

class ResurrectedCollections {
  public:
    [[nodiscard]] bool empty() const noexcept { return kept_.empty(); }
    void clear() noexcept { kept_.clear(); }
    // Call this with the owners of each collection. Only the last collection that found an owner
    // unreachable reports it.
    void forget(const CapturedCollection& found);
    // REQUIRES: mark_resurrected(*captured) was true. Counts the collection as skipped if too many
    // are kept.
    void keep(std::unique_ptr<CapturedCollection> captured,
              const model::CollectionRecord& record,
              const Search& search,
              const Watches& watches);
    // Removes a collection whose owners have been freed since, if any. Frees tracked weak
    // references that are not in the collector's count of young objects.
    [[nodiscard]] std::optional<ResurrectedCollection> take_freed();

  private:
    std::vector<ResurrectedCollection> kept_;
};

}  // namespace cyclewatch::watch
