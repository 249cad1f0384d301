// SPDX-License-Identifier: Apache-2.0
// The stages of one collection. Before the collector frees anything: find owners -> read owners ->
// capture the graph. Afterwards: check what was freed -> analyze -> apply rules -> store -> notify.
// A scan of the heap runs the same stages, except that nothing is freed.
//
// REQUIRES (everything here): GIL held. RUNS PYTHON: only readers passed to register_owner().
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "advice/rules.h"
#include "capture/cluster_identity.h"
#include "collector/collection_listener.h"
#include "collector/heap_scan.h"
#include "collector/unreachable_set.h"
#include "device/claim_check.h"
#include "device/memory_sampler.h"
#include "device/owner_detector.h"
#include "device/owner_registry.h"
#include "device/torch_layout.h"
#include "watch/captured_collection.h"
#include "watch/site_lookup.h"
#include "watch/suspected_storages.h"
#include "watch/watch.h"

namespace cyclewatch::watch {

using Watches = std::vector<std::shared_ptr<Watch>>;

class Pipeline {
  public:
    device::OwnerRegistry& registry() noexcept { return registry_; }
    advice::Rules& rules() noexcept { return rules_; }

    // Call this in a forked child. Discards the state of the parent's collections.
    void reset();
    // Call this when the hook is installed. All existing objects are assumed to be alive at this
    // time.
    void restart_clock() { last_of_generation_.fill(Clock::now()); }
    void drop_collection() {
        collection_ = {};
        resurrected_.clear();
    }

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
    void count(const Watches& watches) noexcept { count(collection_, watches); }

    // Finds the unreachable owners in `scope`, without a collection, and adds them to the findings
    // of `watch`. Storages that an earlier scan reported to this watch are left out. Throws
    // std::bad_alloc if out of memory. May be called during a collection on another thread.
    // REQUIRES: a build with a GIL.
    DeadBytes scan(const std::shared_ptr<Watch>& watch, collector::HeapScope scope);
    // Finds the unreachable owners that no collection can free, because a cycle leads through C++,
    // and adds those that `settle` earlier searches in a row have found to the findings of `watch`.
    // Throws std::bad_alloc if out of memory. REQUIRES: a build with a GIL.
    void find_never_freed(const std::shared_ptr<Watch>& watch,
                          const device::TorchLayout& layout,
                          int settle);
    // Like scan(), but creates no graph and no findings. Returns the unreachable bytes on each
    // device that `watch` watches. If `with_unexplained` is true, includes memory to which unknown
    // objects may refer.
    [[nodiscard]] std::map<std::string, std::uint64_t> dead_bytes(
        const std::shared_ptr<Watch>& watch, collector::HeapScope scope, bool with_unexplained);

  private:
    // A collection or a scan.
    struct Current {
        int generation = 0;
        Clock::time_point started;
        Clock::duration own{};  // time spent in the watch
        std::uint64_t unreachable = 0;
        bool listed = true;  // false: nothing was searched, and the objects were not counted
        // The object counts that the collector reported; 0 for a scan.
        std::uint64_t reclaimed = 0;
        std::uint64_t examined = 0;
        double collector_seconds = 0;                        // without `own`
        model::Collected collected = model::Collected::yes;  // a scan: not_yet or never
        Depth depth = Depth::none;
        bool settles = false;  // storages are reported only after several searches
        std::unique_ptr<CapturedCollection> captured;  // null: no owner was found
        const char* skipped = "";                      // why nothing was captured; "" if it was
    };

    // Called for each set of unreachable objects that a scan finds.
    using Finish = std::function<void(CapturedCollection& captured, Current& current)>;

    // A collection whose owners were resurrected by a finalizer.
    struct Resurrected {
        std::unique_ptr<CapturedCollection> captured;
        model::CollectionRecord record;
        Current collection;  // without `captured`
        Watches watches;     // those that were active
    };

    // Call this with the owners of each collection. Only the last collection that found an owner
    // unreachable reports it.
    void forget_resurrected(const CapturedCollection& found);
    void keep_resurrected(std::unique_ptr<CapturedCollection> captured,
                          const model::CollectionRecord& record,
                          const Watches& watches);
    void begin(Current& current, int generation);
    static void count(const Current& current, const Watches& watches) noexcept;
    void capture(const collector::UnreachableSet& unreachable,
                 const Watches& watches,
                 Depth least_depth,
                 Current& current);
    void report(CapturedCollection& captured,
                const model::CollectionRecord& record,
                const Watches& watches,
                const Current& current);
    void scan_each(const std::shared_ptr<Watch>& watch,
                   collector::HeapScope scope,
                   Depth least_depth,
                   const Finish& finish);
    // Finds the unreachable objects that no collection can free, because a cycle leads through
    // NumPy arrays.
    void scan_arrays(const std::shared_ptr<Watch>& watch,
                     Depth least_depth,
                     Current& current,
                     const Finish& finish);
    // Reports what a scan or a search has found, and remembers its storages.
    void report_found(CapturedCollection& captured,
                      const std::shared_ptr<Watch>& watch,
                      Current& current);
    [[nodiscard]] std::size_t list_hidden_references(const device::TorchLayout& layout,
                                                     collector::HiddenReferences& hidden);
    void capture_graph(const collector::UnreachableSet& unreachable,
                       const device::Detection& detection,
                       const OwnerReadings& readings,
                       const Watches& watches,
                       const Current& current,
                       CapturedCollection& captured);
    // True if every watch already has findings for unreachable objects with this structure. The
    // graph then need not be captured.
    [[nodiscard]] bool recognize(capture::GraphCapture& graph,
                                 const Watches& watches,
                                 bool values,
                                 CapturedCollection& captured);
    [[nodiscard]] std::vector<model::Finding> find(const model::Observation& observation,
                                                   const CapturedCollection& captured,
                                                   Watch& watch,
                                                   const Current& current);
    [[nodiscard]] DeviceFilter devices_of(const Watch& watch) const;
    [[nodiscard]] double dead_for_at_most(const Current& current, Clock::time_point now);
    [[nodiscard]] model::CollectionRecord make_record(const Current& current,
                                                      Clock::time_point now);
    static void count_omissions(Watch& watch, const CapturedCollection& captured);
    void log_contradictions(const CapturedCollection& captured, const Watches& watches);

    device::OwnerRegistry registry_;
    device::OwnerDetector detector_;
    device::MemorySampler sampler_;
    device::ClaimCheck claims_;
    advice::Rules rules_;
    SiteLookup site_lookup_;
    SuspectedStorages suspects_;
    capture::ClusterIdentifier identifier_;
    Current collection_;  // the one whose "start" came last
    std::vector<Resurrected> resurrected_;
    bool accelerator_usable_ = false;
    std::uint64_t collections_ = 0;
    std::set<std::string> logged_contradictions_;  // names of types
    std::array<Clock::time_point, 3> last_of_generation_{};
};

}  // namespace cyclewatch::watch
