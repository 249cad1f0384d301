// SPDX-License-Identifier: Apache-2.0
// Searches for unreachable owners without a collection. They run the stages of a collection
// (pipeline.h), except that nothing is freed, and may run during a collection on another thread.
//
// REQUIRES (everything here): GIL held, except for scan() and dead_bytes() in free-threaded builds.
// RUNS PYTHON: only readers passed to register_owner(). Throws std::bad_alloc if out of memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "collector/heap_scan.h"
#include "collector/hidden_references.h"
#include "collector/unreachable_set.h"
#include "device/torch_layout.h"
#include "watch/captured_collection.h"
#include "watch/live_owners.h"
#include "watch/search.h"
#include "watch/stages.h"
#include "watch/suspected_storages.h"

namespace cyclewatch::watch {

class HeapSearches {
  public:
    explicit HeapSearches(Stages& stages) : stages_(stages) {}

    // Call this in a forked child.
    void reset() { suspects_ = {}; }

    // Finds the unreachable owners in `scope`, and adds them to the findings of `watch`. Storages
    // that an earlier scan reported to this watch are left out. Free-threaded builds: throws
    // std::runtime_error if other threads keep creating objects.
    // `reads_graphs`: also finds what only the autograd graphs of these owners keep.
    DeadBytes scan(const std::shared_ptr<Watch>& watch,
                   collector::HeapScope scope,
                   bool reads_graphs);
    // Like scan() of all objects, but without the cycles through NumPy arrays, and with a list of
    // the reachable owners, which needs the result of the same scan. With `layout`, first calls
    // find_never_freed() for the watch `never_freed`, which may make the scan unnecessary.
    [[nodiscard]] LiveOwners scan_for_live_owners(const std::shared_ptr<Watch>& watch,
                                                  const std::shared_ptr<Watch>& never_freed,
                                                  const device::TorchLayout* layout);
    // Finds the unreachable owners that no collection can free, because a cycle leads through C++,
    // and adds those that `settle` earlier searches in a row have found to the findings of `watch`.
    // Returns false if scan() would find nothing, because no unreachable object leads to an owner.
    // `live`: if not null, and no such owners exist, receives those that C code keeps alive.
    // REQUIRES: a build with a GIL.
    bool find_never_freed(const std::shared_ptr<Watch>& watch,
                          const device::TorchLayout& layout,
                          int settle,
                          LiveOwners* live = nullptr);
    // Like scan(), but creates no graph and no findings. Returns the unreachable bytes on each
    // device that `watch` watches. If `with_unexplained` is true, includes memory to which unknown
    // objects may refer.
    [[nodiscard]] std::map<std::string, std::uint64_t> dead_bytes(
        const std::shared_ptr<Watch>& watch, collector::HeapScope scope, bool with_unexplained);

  private:
    // Called for each set of unreachable objects in which a scan finds owners.
    using Finish = std::function<void(CapturedCollection& captured, Search& search)>;

    [[nodiscard]] Search begin(int generation, Watch& watch);
    static void end(Search& search, const std::shared_ptr<Watch>& watch) noexcept;
    void scan_each(const std::shared_ptr<Watch>& watch,
                   collector::HeapScope scope,
                   Depth least_depth,
                   bool reads_graphs,
                   const Finish& finish,
                   LiveOwners* live = nullptr);
    // Adds what only the autograd graphs of the unreachable owners keep, and counts the references
    // of these graphs to the owners, such as the one from the graph of `exp()` to its own result.
    void add_saved(CapturedCollection& captured, const LiveOwners& live, const Watch& watch);
    std::size_t storage_of(PyObject* object, const StorageIndexes& indexes);
    // Finds the unreachable objects that no collection can free, because a cycle leads through
    // NumPy arrays.
    void scan_arrays(const std::shared_ptr<Watch>& watch,
                     Depth least_depth,
                     Search& search,
                     const Finish& finish);
    // Null if there are no owners among the objects.
    [[nodiscard]] std::unique_ptr<CapturedCollection> read(
        const collector::UnreachableSet& unreachable,
        const std::shared_ptr<Watch>& watch,
        Depth least_depth,
        SuspectedStorages* suspects,
        Search& search);
    // Reports what a search has found, and remembers its storages.
    void report(CapturedCollection& captured, const std::shared_ptr<Watch>& watch, Search& search);
    [[nodiscard]] std::size_t list_hidden_references(const device::TorchLayout& layout,
                                                     collector::HiddenReferences& hidden);

    Stages& stages_;
    SuspectedStorages suspects_;
};

}  // namespace cyclewatch::watch
