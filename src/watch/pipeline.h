// SPDX-License-Identifier: Apache-2.0
// One collection, stage by stage: unreachable set -> owners -> what they own -> reference graph,
// and after the sweep: what really went. Calls the rooms in order; decides nothing itself.
//
// REQUIRES (everything here): GIL held. RUNS PYTHON: only readers the user registered.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "capture/graph_capture.h"
#include "collector/unreachable_set.h"
#include "device/memory_events.h"
#include "device/memory_sampler.h"
#include "device/owner_detector.h"
#include "device/owner_reader.h"
#include "device/owner_registry.h"
#include "model/observation.h"
#include "python/references.h"

namespace cyclewatch::watch {

// How much of a collection is looked at.
enum class Depth : std::uint8_t {
    full,
    lean,         // over budget: few objects are named, equal shapes only counted
    owners_only,  // far over budget: owners and bytes are counted, no graph is made
};

// One owner between the callback and "stop".
struct PendingOwner {
    std::string type;
    device::OwnerReading reading;
    python::OwnedRef weakref;  // dead at "stop": the owner really went; null: cannot be asked
    capture::OwnerPlace place;
    std::size_t object = 0;  // position among the objects of the catch; parts share their whole's
    std::size_t whole = 0;   // of a part: index of the owner it dies with
    bool is_part = false;
    std::size_t storage = 0;  // index into the storages of the collection
    bool died = true;
    bool storage_went = true;
};

// Everything known of one collection that found an owner unreachable.
struct CapturedCollection {
    std::vector<PendingOwner> owners;
    std::vector<model::Storage> storages;
    std::vector<model::DeviceMemory>
        memory;                       // in use before the sweep; after read_after_sweep(), after it
    device::WallTime unreachable_at;  // before the sweep
    device::WallTime swept_at;        // after it
    capture::CapturedGraph captured;
    std::uint64_t failed_readings = 0;
    int objects_made = 0;  // by readers; each goes with its storage
    int objects_left = 0;  // of them, those whose storage is watched and still there
};

class Pipeline {
  public:
    // Tells whether any watch looks at memory of this device ("cuda:0").
    using Wanted = std::function<bool(std::string_view device)>;

    device::OwnerRegistry& registry() noexcept { return registry_; }

    // Inside CollectionListener::on_unreachable(): all stages up to the graph. Null where nothing
    // that is wanted was unreachable. May throw std::bad_alloc.
    [[nodiscard]] std::unique_ptr<CapturedCollection> inspect(
        const collector::UnreachableSet& unreachable,
        const Wanted& wanted,
        Depth depth,
        bool values);

    // At "stop": asks the weak storages which owners and storages really went, and what memory is
    // in use now. Lowers `collection.objects_left` to what is still there.
    void read_after_sweep(CapturedCollection& collection) noexcept;

  private:
    device::OwnerRegistry registry_;
    device::OwnerDetector detector_;
    device::MemorySampler sampler_;
};

// What one watch sees of `collection`: its owners and storages, the totals in the record. Moves the
// graph into the observation; give it back with `collection.captured.graph = std::move(...)`.
[[nodiscard]] model::Observation observation_of(CapturedCollection& collection,
                                                const Pipeline::Wanted& wanted);

}  // namespace cyclewatch::watch
