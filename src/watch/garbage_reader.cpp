// SPDX-License-Identifier: Apache-2.0
#include "watch/garbage_reader.h"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "device/device_memory.h"
#include "python/stop_the_world.h"
#include "watch/known_findings.h"

namespace cyclewatch::watch {
namespace {

constexpr std::uint64_t kLeanObjects = 2'000;

// The minimum of the depths that the individual watches' budgets allow, but at least `lean` if any
// watch can afford a search. A larger value of `Depth` searches less.
Depth lowest_depth(const Watches& watches, Clock::time_point now, std::uint64_t unreachable) {
    Depth lowest = Depth::full;
    Depth highest = Depth::none;
    for (const auto& watch : watches) {
        const Depth depth = watch->depth(now, unreachable);
        lowest = std::max(lowest, depth);
        highest = std::min(highest, depth);
    }
    return highest == Depth::none ? Depth::none : std::min(lowest, Depth::lean);
}

Depth depth_of(const Search& search, const Watches& watches, Depth least_depth) {
    Depth depth = lowest_depth(watches, search.started, search.unreachable);
    if (depth == Depth::none && search.is_scan()) {
        depth = Depth::lean;  // decided by Watch::due_scan()
    }
    return std::max(least_depth, depth);
}

bool is_on_cuda(const model::Storage& storage) {
    return storage.device.starts_with("cuda:");
}

}  // namespace

GarbageReading GarbageReader::read(const collector::UnreachableSet& unreachable,
                                   const Search& search,
                                   const Watches& watches,
                                   Depth least_depth,
                                   SuspectedStorages* suspects) {
    GarbageReading result;
    if (registry_.empty()) {
        return result;  // no library that can own device memory is imported
    }
    result.depth = depth_of(search, watches, least_depth);
    if (result.depth == Depth::none) {
        result.skipped = search.unreachable > 0 ? model::kNotSearched : "";
        return result;
    }

    device::Detection detection;
    detect(unreachable, detection);
    if (detection.owners.empty()) {
        return result;
    }

    // Read the device, the size and the storage of each owner.
    auto captured = std::make_unique<CapturedCollection>();
    captured->accelerator_usable = device::accelerator_usable();
    const DeviceFilter watched = [&](std::string_view device) {
        return std::ranges::any_of(watches, [&](const auto& watch) {
            return watch->wants(device, captured->accelerator_usable);
        });
    };
    const KnownStorages known = [&](device::OwnerReading& reading) {
        return watches.front()->reported().contains(reading.device, reading.storage) ||
               (suspects != nullptr && !suspects->is_settled(reading));
    };
    const bool explained =
        unreachable.hidden() != nullptr && unreachable.hidden()->explains_tensors;
    OwnerReadings readings(
        *captured, watched, search.is_scan() ? &known : nullptr, &claims_, explained);
    readings.read(detection.owners);

    // Capture the references that lead to the owners.
    // Known findings cannot be used for a scan, because earlier scans determine which owners it
    // reports. Known findings also cannot be used if user code has yet to read some owners.
    const bool may_be_known = !search.is_scan() && !readings.needs_user_code();
    capture_graph(unreachable, detection, readings, watches, may_be_known, result.depth, *captured);

    // Run the user's readers. This is the last step that uses objects, because the readers may
    // free objects that were only borrowed.
    detection.held.clear();
    readings.read_with_user_code();
    if (search.is_scan()) {
        captured->objects.insert(readings.objects().begin(), readings.objects().end());
    }

    if (std::ranges::any_of(captured->observation.storages, is_on_cuda)) {
        captured->cuda_error = device::pending_error();
    }
    captured->unreachable_at = wall_time();
    result.captured = std::move(captured);
    return result;
}

void GarbageReader::detect(const collector::UnreachableSet& unreachable,
                           device::Detection& detection) {
    python::with_world_stopped([&] { detector_.detect(unreachable, registry_, detection); });
    PyErr_Clear();  // a type whose tp_traverse raises
    std::erase_if(detection.owners, [this](const device::DetectedOwner& owner) {
        return inherited_.contains(owner.object);
    });
}

bool GarbageReader::has_owners(const collector::UnreachableSet& unreachable) {
    device::Detection detection;
    detect(unreachable, detection);
    return !detection.owners.empty();
}

void GarbageReader::capture_graph(const collector::UnreachableSet& unreachable,
                                  const device::Detection& detection,
                                  const OwnerReadings& readings,
                                  const Watches& watches,
                                  bool may_be_known,
                                  Depth depth,
                                  CapturedCollection& captured) {
    if (depth == Depth::owners_only || readings.objects().empty()) {
        return;
    }
    capture::CaptureLimits limits;
    // All watches share the graph, so dict keys are captured only if all watches allow it.
    limits.values = std::ranges::all_of(
        watches, [](const auto& watch) { return watch->settings().capture_values; });
    if (depth == Depth::lean) {
        limits.max_objects = kLeanObjects;
    }
    python::with_world_stopped([&] {
        capture::GraphCapture graph(
            unreachable.objects(), detection.dependents, readings.objects(), unreachable.hidden());
        captured.is_known = may_be_known && recognize(graph, watches, limits.values, captured);
        if (!captured.is_known) {
            captured.take(graph.capture(limits));
            read_allocation_stacks(captured, readings.objects());
        }
    });
    PyErr_Clear();
}

bool GarbageReader::recognize(capture::GraphCapture& graph,
                              const Watches& watches,
                              bool values,
                              CapturedCollection& captured) {
    // Known findings cannot be used if a scan has reported storages, because those storages must
    // not be counted again.
    if (!std::ranges::all_of(watches,
                             [](const auto& watch) { return watch->reported().empty(); })) {
        return false;
    }
    captured.shape = shape_of(graph.identify(identifier_, values), captured);
    return std::ranges::all_of(watches, [&](const auto& watch) {
        watch->known().use_rules(rules_.version());
        return watch->known().contains(captured.shape, watch->settings().min_bytes == 0);
    });
}

}  // namespace cyclewatch::watch
