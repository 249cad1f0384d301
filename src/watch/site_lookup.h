// SPDX-License-Identifier: Apache-2.0
// Asks torch's memory history where the owners of new findings were allocated, after the
// collection that found them. Here alone do device addresses outlive a collection: until they are
// looked up. docs/design/devices.md says what is asked and what is not known.
//
// REQUIRES (everything here): GIL held.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "device/memory_events.h"
#include "watch/pipeline.h"
#include "watch/watch.h"

namespace cyclewatch::watch {

// The storages of one collection, by the indices of its observations. Null where torch's history
// cannot tell of any.
using CollectedStorages = std::shared_ptr<const std::vector<device::CollectedStorage>>;

// At "stop", once `collection` is settled. RUNS PYTHON: never. May throw std::bad_alloc.
[[nodiscard]] CollectedStorages collected_storages(const CapturedCollection& collection);

// The owners of one finding that may be looked up, and how many are over which storage.
struct SiteQuestion {
    std::string signature;
    std::vector<model::OwnerSummary> owners;  // with their `storages`
    CollectedStorages storages;
};

// Takes what is to be asked out of `findings`; they are ready to be stored then.
[[nodiscard]] std::vector<SiteQuestion> take_questions(std::vector<model::Finding>& findings,
                                                       const CollectedStorages& storages);

class SiteLookup {
  public:
    // Of `questions`, keeps those about new findings of `watch`, and answers them in a notice of
    // its own: what is announced afterwards is told with the answers. However many wait, one
    // snapshot is taken for all, and none while torch records no history. RUNS PYTHON: not yet.
    void ask(const std::shared_ptr<Watch>& watch,
             const std::shared_ptr<CollectionResult>& result,
             std::vector<SiteQuestion> questions);

  private:
    struct Asked {
        std::shared_ptr<Watch> watch;
        std::shared_ptr<CollectionResult> result;
        SiteQuestion question;
    };

    void answer();
    [[nodiscard]] bool affordable(const Asked& asked) const;
    void read(std::vector<Asked>& asked);
    void tell_failure(const std::vector<Asked>& asked, const std::string& failure);

    std::vector<Asked> waiting_;
    double seconds_ = 0;  // that looking up has taken so far
    bool told_failure_ = false;
};

}  // namespace cyclewatch::watch
