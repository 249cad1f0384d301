// SPDX-License-Identifier: Apache-2.0
#include "watch/owner_census.h"

#include <Python.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <iterator>
#include <map>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "capture/object_summary.h"
#include "collector/tracked_objects.h"
#include "device/device_memory.h"
#include "device/device_selection.h"
#include "device/resident_pages.h"
#include "python/references.h"
#include "report/address_list.h"
#include "retention/heap_graph.h"
#include "retention/why_alive.h"
#include "watch/captured_collection.h"
#include "watch/live_owners.h"
#include "watch/live_storage.h"
#include "watch/owner_readings.h"

namespace cyclewatch::watch {
namespace {

// A key made from all properties, except the path, that the owners of a group share.
std::string kind_of(const PendingOwner& owner) {
    const device::OwnerReading& reading = owner.reading;
    return owner.type + '\0' + reading.device + '\0' + reading.shape + '\0' + reading.dtype + '\0' +
           std::to_string(reading.bytes);
}

// Removes the numbers from a path. Returns "model.layers[x].weight" for "model.layers[3].weight",
// and "thread pool-: run() local x" for "thread pool-3: run() local x".
std::string without_indexes(std::string_view text) {
    std::string pattern;
    const std::size_t colon = text.starts_with("thread ") ? text.find(": ") : 0;
    const std::size_t thread = colon == std::string_view::npos ? 0 : colon;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (i < thread && text[i] >= '0' && text[i] <= '9') {
            continue;
        }
        pattern += text[i];
        const std::size_t end = text.find_first_not_of("0123456789", i + 1);
        if (text[i] == '[' && end != std::string_view::npos && end > i + 1 && text[end] == ']') {
            pattern += 'x';
            i = end - 1;
        }
    }
    return pattern;
}

bool ends_in_attribute(const model::RetentionPath& path) {
    return !path.references.empty() && path.references.back().label.starts_with('.');
}

// The owners that share their storage with another owner, such as views.
std::vector<PyObject*> sharing_owners(const CapturedCollection& read,
                                      std::span<PyObject* const> objects) {
    std::vector<std::size_t> counts(read.observation.storages.size());
    for (const PendingOwner& owner : read.owners) {
        ++counts[owner.storage];
    }
    std::vector<PyObject*> found;
    for (const PendingOwner& owner : read.owners) {
        if (counts[owner.storage] > 1) {
            found.push_back(objects[owner.object]);
        }
    }
    return found;
}

// The part that the paths of the storage end in; null if there is none.
const PendingOwner* named_part_of(const LiveStorage& storage) {
    const PendingOwner* const part = part_of(storage);
    return part == nullptr || part->reading.is_shard ? nullptr : part;
}

constexpr std::size_t kShownPaths = 2;

void find_paths(LiveStorage& storage, PyObject* object, retention::HolderSearch& search) {
    const PendingOwner* const part = named_part_of(storage);
    storage.paths = search.paths(object, kShownPaths, is_small_view(storage));
    const bool has_graph =
        storage.graph_nodes > 0 || (!storage.paths.empty() && is_in_graph(storage.paths.front()));
    if (has_graph && !storage.paths.empty() && storage.paths.front().root.is_unread) {
        // A graph grows through the variable or object that carries it to the next step.
        storage.paths = search.carrier_paths(object, kShownPaths);
    }
    // Paths that end in an attribute come first. For example, a parameter is an attribute of its
    // module, but also an item of a list in the optimizer.
    std::stable_partition(storage.paths.begin(), storage.paths.end(), &ends_in_attribute);
    for (model::RetentionPath& path : storage.paths) {
        if (storage.owner->reading.is_shard && without_indexes(path.text) == path.text) {
            path.group_remedy.clear();  // the shards are one array
        } else if (part != nullptr) {
            retention::append(path, part->reading.part, part->type, storage.is_only_part);
        }
    }
    storage.category = category_of(storage);
}

// A key made from all properties, except the holders, on which the path and the category of a
// storage depend.
std::string use_of(const LiveStorage& storage) {
    const PendingOwner* const part = part_of(storage);
    const model::OwnerCategory category = category_of(storage);  // without a path
    std::string use = kind_of(*storage.owner) + '\0';
    use += std::string(model::word_of(category)) + '\0';
    use += part == nullptr ? "" : part->reading.part;
    use += storage.is_in_graph ? " in graph" : "";
    use += storage.has_library_holders ? " in library" : "";
    return use;
}

// Storages that have equal use_of() results and are in the same lists, sets and dicts. They are
// counted together, under the first of them.
struct SharedStorages {
    LiveStorage* first;
    std::uint32_t collection;
    std::unordered_set<PyObject*> objects;
};

std::vector<SharedStorages> merge_collected(std::vector<LiveStorage>& storages,
                                            retention::HolderSearch& search) {
    std::map<std::pair<std::string, std::vector<std::uint32_t>>, std::size_t> known;
    std::vector<SharedStorages> merged;
    for (LiveStorage& storage : storages) {
        PyObject* const object = held_object(storage);
        std::vector<std::uint32_t> collections = search.collections(object);
        if (collections.empty()) {
            continue;
        }
        storage.is_item = true;
        const std::uint32_t collection = collections.front();
        const auto [at, is_new] =
            known.try_emplace({use_of(storage), std::move(collections)}, merged.size());
        if (is_new) {
            merged.push_back({&storage, collection, {object}});
        } else {
            merged[at->second].objects.insert(object);
            LiveStorage& first = *merged[at->second].first;
            first.count += std::exchange(storage.count, 0);
            first.graph_nodes += std::exchange(storage.graph_nodes, 0);
            storage.counted_with = &first;
        }
    }
    return merged;
}

// True if the first of `paths` sorts before the first of `known`, for example `kept[0]` before
// `kept[9]`.
bool is_shorter(std::span<const model::RetentionPath> paths,
                std::span<const model::RetentionPath> known) {
    if (paths.empty() || known.empty()) {
        return false;
    }
    const std::string& text = paths.front().text;
    const std::string& other = known.front().text;
    return std::tuple(text.size(), std::string_view(text)) <
           std::tuple(other.size(), std::string_view(other));
}

// The text of the first path, without indexes, and without the key in a large dict: "cache[x]" for
// "cache['a']". "" if there is no path.
std::string path_pattern(const LiveStorage& storage) {
    if (storage.paths.empty()) {
        return "";
    }
    const model::RetentionPath& path = storage.paths.front();
    std::string text = path.text;
    const std::size_t parts = named_part_of(storage) != nullptr ? 1 : 0;
    if (storage.is_item && path.references.size() > parts) {
        const std::string& key = path.references[path.references.size() - 1 - parts].label;
        const std::size_t at = key.starts_with('[') ? text.rfind(key) : std::string::npos;
        if (at != std::string::npos) {
            text.replace(at, key.size(), "[x]");
        }
    }
    return without_indexes(text);
}

// The properties that all storages of a group share.
std::string group_of(const LiveStorage& storage) {
    return kind_of(*storage.owner) + '\0' + std::string(model::word_of(storage.category)) + '\0' +
           path_pattern(storage);
}

// Frees the paths that group() does not use, because each path takes about two kilobytes.
class UnusedPaths {
  public:
    void drop(LiveStorage& storage) {
        const auto [known, is_new] = groups_.try_emplace(group_of(storage), &storage, &storage);
        if (is_new) {
            return;
        }
        auto& [first, shortest] = known->second;
        LiveStorage* unused = &storage;
        if (is_shorter(storage.paths, shortest->paths)) {
            std::swap(unused, shortest);
        }
        for (model::RetentionPath& path : unused->paths) {
            if (unused != first) {
                path.references = {};
                path.cut.reset();
            }
        }
    }

  private:
    std::unordered_map<std::string, std::pair<LiveStorage*, LiveStorage*>> groups_;
};

void search_paths(std::vector<LiveStorage>& storages, retention::HolderSearch& search) {
    for (LiveStorage& storage : storages) {
        storage.count = 1;
        storage.counted_with = nullptr;
        storage.is_item = false;
        storage.paths.clear();  // of an earlier attempt
    }
    for (const SharedStorages& each : merge_collected(storages, search)) {
        PyObject* const object = search.first_in(each.collection, each.objects);
        find_paths(*each.first, object, search);
    }
    UnusedPaths unused;
    for (LiveStorage& storage : storages) {
        if (storage.count == 1 && storage.paths.empty()) {
            find_paths(storage, held_object(storage), search);
            unused.drop(storage);
        }
    }
}

// `unlisted`: objects that the collector does not list but that paths may contain. `untracked`: as
// in HolderSearch. Returns false if the search failed, so that all paths are unknown.
bool find_all_paths(std::vector<LiveStorage>& storages,
                    std::span<PyObject* const> held,
                    std::span<const retention::OwnerReference> library,
                    std::span<PyObject* const> unlisted,
                    std::span<PyObject* const> untracked,
                    const CensusSettings& settings) {
    if (storages.empty()) {
        return true;
    }
    const retention::Keys keys =
        settings.show_keys ? retention::Keys::shown : retention::Keys::hidden;
    const auto search_heap = [&](collector::TrackedObjects& objects) {
        for (PyObject* const object : unlisted) {
            const bool is_listed =
                PyObject_IS_GC(object) != 0 && PyObject_GC_IsTracked(object) != 0;
            if (!is_listed && !objects.add(object)) {
                throw std::bad_alloc();
            }
        }
        retention::HolderSearch search(
            objects, held, library, settings.ignored, settings.fixtures, untracked, keys);
        search_paths(storages, search);
    };
    try {
        retention::with_heap(search_heap);
        return true;
    } catch (const std::exception&) {
        // Memory ran out, or other threads kept creating objects.
        for (LiveStorage& storage : storages) {
            storage.count = 1;
            storage.counted_with = nullptr;
            storage.paths.clear();
            storage.category = category_of(storage);
        }
        return false;
    }
}

// Drops all storages of a kind if their total size is below the minimum, and sorts the remaining
// storages, largest first.
void drop_small(std::vector<LiveStorage>& storages, const CensusSettings& settings) {
    std::unordered_map<std::string, std::uint64_t> bytes;
    for (const LiveStorage& each : storages) {
        bytes[kind_of(*each.owner)] += each.owner->reading.bytes;
    }
    std::erase_if(storages, [&](const LiveStorage& each) {
        return bytes[kind_of(*each.owner)] < settings.min_bytes;
    });
    std::stable_sort(
        storages.begin(), storages.end(), [](const LiveStorage& a, const LiveStorage& b) {
            return a.owner->reading.bytes > b.owner->reading.bytes;
        });
}

// `storages`: as from held_storages(), which sorts them. Smaller storages count as resident.
void find_absent(device::OwnerRegistry& registry, std::vector<LiveStorage>& storages) {
    constexpr std::uint64_t kLeastBytes = 1 << 20;
    device::ResidentPages pages;
    for (LiveStorage& each : storages) {
        const device::OwnerReading& reading = each.owner->reading;
        if (reading.bytes < kLeastBytes) {
            return;
        }
        // The program may have registered types with any numbers as addresses.
        const bool is_mapped = reading.device == "cpu" && reading.has_address &&
                               registry.native_reader_for(Py_TYPE(each.object)) != nullptr;
        LiveStorage& counted = each.count == 0 ? *each.counted_with : each;
        if (is_mapped && !counted.is_gone) {
            counted.absent_bytes += pages.absent_bytes(reading.storage, reading.bytes);
        }
    }
}

// The first path of a storage; a pattern if the storage is counted with others.
std::string path_of(const LiveStorage& counted) {
    const bool is_single = counted.count == 1 && !counted.paths.empty();
    return is_single ? counted.paths.front().text : path_pattern(counted);
}

using Addresses = std::unordered_map<std::string, std::vector<model::OwnedAddress>>;

// The addresses of the largest storages on CUDA devices, by group_of(). `storages`: as from
// held_storages(), which sorts them.
Addresses addresses_of(std::span<const LiveStorage> storages) {
    Addresses addresses;
    std::size_t number = 0;
    for (const LiveStorage& each : storages) {
        const device::OwnerReading& reading = each.owner->reading;
        const LiveStorage& counted = each.count == 0 ? *each.counted_with : each;
        if (number == report::kMaxAddresses) {
            break;
        }
        if (!counted.is_gone && reading.has_address && device::cuda_number(reading.device)) {
            addresses[group_of(counted)].push_back({reading.storage, path_of(counted)});
            ++number;
        }
    }
    return addresses;
}

// The remedy for all items of the container that has the object; "" if the program cannot remove
// the object from a container, or has a name for the item.
std::string_view container_remedy(const model::LiveOwner& group) {
    if (group.held_by.empty() || !group.held_by.front().cut) {
        return {};
    }
    const model::RetentionPath& path = group.held_by.front();
    const std::string_view label = path.cut->label;
    const bool is_numbered = label.starts_with('[') && !label.starts_with("['");
    return is_numbered ? std::string_view(path.group_remedy) : std::string_view();
}

// `is_one_of_several`: other groups have other items of the same container.
void use_group_remedy(model::LiveOwner& group, bool is_one_of_several) {
    const bool has_fixed_size = group.category == model::OwnerCategory::parameter ||
                                group.category == model::OwnerCategory::optimizer_state;
    for (model::RetentionPath& path : group.held_by) {
        if ((group.owner.count > 1 || is_one_of_several) && !path.group_remedy.empty()) {
            const bool is_removal = path.remedy_kind == model::RemedyKind::removal;
            path.remedy =
                path.group_remedy +
                (is_removal && !has_fixed_size ? "; if all are needed, store less in each" : "");
        }
    }
}

void use_group_remedies(std::vector<model::LiveOwner>& groups) {
    std::unordered_map<std::string, std::unordered_set<std::string>> items;  // by remedy
    for (const model::LiveOwner& each : groups) {
        if (const std::string_view remedy = container_remedy(each); !remedy.empty()) {
            auto& labels = items[std::string(remedy)];
            const std::string& label = each.held_by.front().cut->label;
            const bool is_hidden = label.starts_with("[<");  // items have the same label
            labels.insert(is_hidden ? std::to_string(labels.size()) : label);
        }
    }
    for (model::LiveOwner& each : groups) {
        const auto found = items.find(std::string(container_remedy(each)));
        use_group_remedy(each, found != items.end() && found->second.size() > 1);
    }
}

std::vector<model::LiveOwner> group(std::vector<LiveStorage>& storages, Addresses addresses) {
    std::unordered_map<std::string, std::size_t> indexes;
    std::vector<model::LiveOwner> groups;
    for (LiveStorage& storage : storages) {
        const device::OwnerReading& reading = storage.owner->reading;
        const auto [known, is_new] = indexes.emplace(group_of(storage), groups.size());
        if (!is_new) {
            model::LiveOwner& group = groups[known->second];
            group.owner.count += storage.count;
            group.bytes += reading.bytes * storage.count;
            group.graph_nodes += storage.graph_nodes;
            group.absent_bytes += storage.absent_bytes;
            group.has_unread_graph = group.has_unread_graph || storage.has_unread_graph;
            if (is_shorter(storage.paths, group.held_by)) {
                group.held_by = std::move(storage.paths);
            }
            continue;
        }
        model::LiveOwner& group = groups.emplace_back();
        if (const auto found = addresses.find(known->first); found != addresses.end()) {
            group.storages = std::move(found->second);
        }
        group.owner.type = storage.owner->type;
        group.owner.device = reading.device;
        group.owner.bytes = reading.bytes;
        group.owner.count = storage.count;
        group.bytes = reading.bytes * storage.count;
        group.owner.shape = reading.shape;
        group.owner.dtype = reading.dtype;
        group.owner.path = path_pattern(storage);
        const base::CallSite site = capture::allocation_site(storage.object);
        group.owner.allocated_at =
            site.path.empty() ? "" : site.path + ":" + std::to_string(site.line);
        group.category = storage.category;
        group.graph_nodes = storage.graph_nodes;
        group.absent_bytes = storage.absent_bytes;
        group.has_unread_graph = storage.has_unread_graph;
        group.held_by = std::move(storage.paths);
    }
    use_group_remedies(groups);
    return groups;
}

// All live owners and their readings.
struct Census {
    const LiveOwners live;
    CapturedCollection read;
    DeviceFilter watched;
    OwnerReadings readings{read, watched, nullptr, nullptr};

    Census(LiveOwners found, const device::DeviceSelection& devices)
        : live(std::move(found)),
          watched([&devices, usable = device::accelerator_usable()](std::string_view each) {
              return devices.matches(each, usable);
          }) {
        readings.read(live.owners());
        readings.read_with_user_code();
    }
};

bool is_read_again(const model::LiveOwner& group) {
    return !group.held_by.empty() && group.held_by.front().root.is_read_again;
}

// Sorts groups, largest first. Among groups whose sizes differ by at most one percent, those that a
// variable in use holds come last.
void sort_groups(std::vector<model::LiveOwner>& groups) {
    std::ranges::stable_sort(groups, std::ranges::greater(), &model::LiveOwner::bytes);
    for (auto first = groups.begin(); first != groups.end();) {
        const std::uint64_t least = first->bytes - first->bytes / 100;
        const auto last = std::find_if(
            first, groups.end(), [least](const auto& each) { return each.bytes < least; });
        std::stable_partition(first, last, std::not_fn(&is_read_again));
        first = last;
    }
}

std::string sentence_about(device::UnreadGraphs::Reason reason) {
    const std::string subject = "Tensors saved by autograd were not examined: ";
    switch (reason) {
        case device::UnreadGraphs::Reason::none:
            break;
        case device::UnreadGraphs::Reason::hidden:
            return subject + "this version of torch does not show them.";
        case device::UnreadGraphs::Reason::backward:
            return subject + "another thread was running a backward pass.";
        case device::UnreadGraphs::Reason::too_many_nodes:
            return subject + "this process has had autograd graphs with more than 10,000 nodes.";
    }
    return "";
}

void drop_known(std::vector<LiveStorage>& storages, ReportedStorages& known) {
    known.forget_freed();
    std::erase_if(storages, [&](const LiveStorage& each) {
        return known.contains(each.owner->reading.device, each.owner->reading.storage);
    });
}

}  // namespace

ReportedStorages live_storages(device::OwnerRegistry& registry,
                               const device::DeviceSelection& devices) {
    Census census(find_live_owners(registry), devices);
    ReportedStorages storages;
    for (PendingOwner& owner : census.read.owners) {
        storages.add(owner.reading, std::move(owner.weakref), model::Collected{}, {});
    }
    return storages;
}

namespace {

// The storages in `census`, with their paths.
std::vector<LiveStorage> held_storages(const Census& census,
                                       device::OwnerRegistry& registry,
                                       const CensusSettings& settings) {
    const std::span<PyObject* const> objects = census.readings.objects();
    std::vector<LiveStorage> storages = storages_of(census.read, objects, census.live);
    for (ReportedStorages* const known : {settings.known, settings.dead}) {
        if (known != nullptr) {
            drop_known(storages, *known);
        }
    }
    drop_small(storages, settings);
    find_library_holders(registry, storages);
    count_graph_nodes(registry, storages);
    const bool seem_unexplained = census.live.seem_held_by_c_code();
    bool has_paths = true;
    if (!seem_unexplained) {
        const std::vector<PyObject*> sharing = sharing_owners(census.read, objects);
        has_paths = find_all_paths(storages,
                                   census.live.objects(),
                                   census.live.found_graphs()
                                       ? retention::library_references(registry)
                                       : retention::library_references(registry, sharing),
                                   census.live.untracked(),
                                   {},
                                   settings);
    }
    std::vector<PyObject*> unexplained;
    for (LiveStorage& each : storages) {
        if (seem_unexplained || is_held_by_c_code(each)) {
            use_component(each);
            unexplained.push_back(held_object(each));
        }
    }
    if (!unexplained.empty()) {
        has_paths = find_all_paths(storages,
                                   census.live.objects(),
                                   retention::library_references(registry),
                                   census.live.untracked(),
                                   unexplained,
                                   settings);
    }
    // A storage has no path if all of its paths are ignored. A storage also has no path if another
    // thread, or a reader that runs user code, released it after the owners were listed.
    for (LiveStorage& each : storages) {
        each.is_gone = (has_paths || !settings.ignored.empty()) && each.paths.empty();
        const bool is_held = !each.paths.empty() && !is_held_by_c_code(each);
        if (settings.dead == nullptr && has_paths && !is_held && each.count == 1) {
            each.is_gone = each.is_gone || each.saved_for != nullptr;
        }
    }
    return storages;
}

}  // namespace

std::vector<OwnedStorage> owned_storages(device::OwnerRegistry& registry,
                                         const CensusSettings& settings) {
    const Census census(find_live_owners(registry), settings.devices);
    const std::vector<LiveStorage> storages = held_storages(census, registry, settings);
    std::vector<OwnedStorage> owned;
    owned.reserve(storages.size());
    for (const LiveStorage& each : storages) {
        const LiveStorage& counted = each.count == 0 ? *each.counted_with : each;
        if (counted.is_gone) {
            continue;
        }
        owned.push_back({.device = each.owner->reading.device,
                         .storage = each.owner->reading.storage,
                         .bytes = each.owner->reading.bytes,
                         .type = each.owner->type,
                         .category = counted.category,
                         .path = path_of(counted)});
    }
    return owned;
}

LiveGroups live_owners(device::OwnerRegistry& registry, const CensusSettings& settings) {
    return live_owners(registry, settings, find_live_owners(registry));
}

LiveGroups live_owners(device::OwnerRegistry& registry,
                       const CensusSettings& settings,
                       LiveOwners found) {
    const Census census(std::move(found), settings.devices);
    std::vector<LiveStorage> storages = held_storages(census, registry, settings);
    if (settings.examines_pages) {
        find_absent(registry, storages);
    }
    Addresses addresses = addresses_of(storages);
    std::erase_if(storages,
                  [](const LiveStorage& each) { return each.count == 0 || each.is_gone; });
    std::vector<model::LiveOwner> groups = group(storages, std::move(addresses));
    std::erase_if(groups,
                  [&](const model::LiveOwner& each) { return each.bytes < settings.min_bytes; });
    sort_groups(groups);
    groups.resize(std::min(groups.size(), settings.top));
    return {.groups = std::move(groups),
            .unread_graphs = sentence_about(census.live.unread_graphs().reason)};
}

}  // namespace cyclewatch::watch
