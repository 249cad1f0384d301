// SPDX-License-Identifier: Apache-2.0
// The stages of one collection: find owners -> read owners -> capture the graph, and after the
// sweep: check what was freed -> analyze -> apply rules -> store -> notify.
//
// REQUIRES (everything here): GIL held. RUNS PYTHON: only readers passed to register_owner().
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "advice/rules.h"
#include "collector/collection_listener.h"
#include "collector/unreachable_set.h"
#include "device/memory_events.h"
#include "device/memory_sampler.h"
#include "device/owner_detector.h"
#include "device/owner_registry.h"
#include "watch/captured_collection.h"
#include "watch/site_lookup.h"
#include "watch/watch.h"

namespace cyclewatch::watch {

using Watches = std::vector<std::shared_ptr<Watch>>;

class Pipeline {
  public:
    device::OwnerRegistry& registry() noexcept { return registry_; }
    advice::Rules& rules() noexcept { return rules_; }

    // In a forked child: discards the state of the parent's collections.
    void reset();
    // When the hook is installed: all existing objects are considered alive at this time.
    void restart_clock() { last_of_generation_.fill(Clock::now()); }
    void drop_collection() { current_ = {}; }

    // At gc "start".
    void begin(int generation);
    // In CollectionListener::on_unreachable(): all stages up to the graph. May throw
    // std::bad_alloc; then call drop_capture().
    void before_sweep(const collector::UnreachableSet& unreachable, const Watches& watches);
    // At gc "stop": all stages after the sweep. May throw std::bad_alloc; then call drop_capture().
    void after_sweep(collector::Miss miss, const Watches& watches);
    // Frees the captured objects; the collection counts as skipped.
    void drop_capture() noexcept;
    // After after_sweep(): adds the collection to the statistics of each watch.
    void count(const Watches& watches) noexcept;

  private:
    // The current collection.
    struct Current {
        int generation = 0;
        Clock::time_point started;
        Clock::duration own{};  // time spent in the watch
        std::uint64_t unreachable = 0;
        Depth depth = Depth::full;
        std::unique_ptr<CapturedCollection> captured;  // null: no owner was found
        const char* skipped = "";                      // why nothing was captured; "" if it was
    };

    void capture_graph(const collector::UnreachableSet& unreachable,
                       const device::Detection& detection,
                       const OwnerReadings& readings,
                       const Watches& watches);
    [[nodiscard]] DeviceFilter devices_of(const Watch& watch) const;
    [[nodiscard]] Clock::time_point replace_last_reaching(Clock::time_point now);
    [[nodiscard]] model::CollectionRecord make_record(Clock::time_point now);
    void count_omissions(Watch& watch, const CapturedCollection& captured) const;
    void log_failed_readers(const Watches& watches);

    device::OwnerRegistry registry_;
    device::OwnerDetector detector_;
    device::MemorySampler sampler_;
    advice::Rules rules_;
    SiteLookup site_lookup_;
    Current current_;
    bool accelerator_usable_ = false;
    std::uint64_t collections_ = 0;
    std::array<Clock::time_point, 3> last_of_generation_{};
};

}  // namespace cyclewatch::watch
