// SPDX-License-Identifier: Apache-2.0
// The stages of one collection. Before the collector frees anything: find owners -> read owners ->
// capture the graph (garbage_reader.h). Afterwards: check what was freed -> analyze -> apply rules
// -> store -> notify (finding_reporter.h).
//
// REQUIRES (everything here): GIL held. RUNS PYTHON: only readers passed to register_owner().
#pragma once

#include <memory>

#include "collector/collection_listener.h"
#include "collector/unreachable_set.h"
#include "device/memory_sampler.h"
#include "watch/captured_collection.h"
#include "watch/resurrected_collections.h"
#include "watch/search.h"
#include "watch/stages.h"

namespace cyclewatch::watch {

class Pipeline {
  public:
    explicit Pipeline(Stages& stages) : stages_(stages) {}

    // Discards everything that is known about earlier collections.
    void reset();

    // Reports the owners that a finalizer resurrected during an earlier collection and that have
    // been freed since. May throw std::bad_alloc.
    void report_resurrected(const Watches& watches);

    // At gc "start".
    void begin(int generation);
    // Called from CollectionListener::wants_unreachable(). True if the budget of any watch allows a
    // search.
    [[nodiscard]] bool wants_unreachable(const Watches& watches) noexcept;
    // Called from CollectionListener::on_unreachable(). Runs the stages up to and including the
    // capture of the graph. May throw std::bad_alloc; the caller must then call drop_capture().
    void before_sweep(const collector::UnreachableSet& unreachable, const Watches& watches);
    // Called at gc "stop". Runs the remaining stages. May throw std::bad_alloc; the caller must
    // then call drop_capture().
    void after_sweep(const collector::CollectionOutcome& outcome, const Watches& watches);
    // Frees the captured objects, and counts the collection as skipped.
    void drop_capture() noexcept;
    // Called after after_sweep(). Adds the collection to the statistics of each watch.
    void count(const Watches& watches) const noexcept { watch::count(collection_, watches); }

  private:
    Stages& stages_;
    device::MemorySampler sampler_;
    Search collection_;                             // the one whose "start" came last
    std::unique_ptr<CapturedCollection> captured_;  // null: no owner was found
    ResurrectedCollections resurrected_;
};

}  // namespace cyclewatch::watch
