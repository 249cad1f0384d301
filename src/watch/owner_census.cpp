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

#include "capture/labelers/text.h"
#include "capture/object_summary.h"
#include "collector/heap_scan.h"
#include "collector/tracked_objects.h"
#include "compat/frame_access.h"
#include "compat/gc_list.h"
#include "device/device_memory.h"
#include "device/owner_detector.h"
#include "python/guards.h"
#include "python/references.h"
#include "python/stop_the_world.h"
#include "python/type_traversal.h"
#include "retention/heap_graph.h"
#include "retention/why_alive.h"
#include "watch/captured_collection.h"

namespace cyclewatch::watch {
namespace {

// Finds the owners that have no GC header, such as NumPy arrays. The collector does not list them,
// so the references of all other objects are followed.
class UntrackedOwners {
  public:
    explicit UntrackedOwners(device::OwnerRegistry& registry) : registry_(registry) {}

    // `tracked`: a list of the tracked objects. Does not follow references of unreachable objects.
    // May throw std::bad_alloc. REQUIRES: the other threads stopped. RUNS PYTHON: never.
    void find(PyObject* tracked, const cw_object_list& frozen, const collector::HeapScan& scan) {
        for (Py_ssize_t i = 0; i < PyList_GET_SIZE(tracked); ++i) {
            follow(PyList_GET_ITEM(tracked, i), scan);
        }
        for (std::size_t i = 0; i < frozen.count; ++i) {
            follow(frozen.objects[i], scan);
        }
        cyclewatch_visit_threads(&visit_thread, this);
        if (out_of_memory_) {
            throw std::bad_alloc();
        }
    }

    void move_to(std::vector<python::OwnedRef>& held,
                 std::vector<device::DetectedOwner>& owners,
                 std::vector<PyObject*>& untracked) {
        for (const auto& [object, leads] : known_) {
            if (!leads) {
                continue;
            }
            held.push_back(python::borrow(object));
            untracked.push_back(object);
            if (PyType_IS_GC(Py_TYPE(object)) == 0) {
                owners.push_back({object, registry_.reader_for(Py_TYPE(object))});
            }
        }
    }

  private:
    static constexpr int kMostNesting = 32;  // of untracked containers

    void follow(PyObject* object, const collector::HeapScan& scan) {
        if (!scan.collectable.contains(object) && !scan.frozen.contains(object)) {
            traversals_.of(Py_TYPE(object)).visit<&visit>(object, this);
        }
    }
    static int visit(PyObject* object, void* context) noexcept {
        static_cast<UntrackedOwners*>(context)->consider(object);
        return 0;
    }
    static void visit_thread(const cyclewatch_thread_reference* reference, void* context) {
        if (reference->is_stale == 0) {
            static_cast<UntrackedOwners*>(context)->consider(reference->target);
        }
    }

    // Records whether an untracked object is an owner, or a container that leads to owners.
    void consider(PyObject* object) noexcept {
        if (object == nullptr) {
            return;
        }
        PyTypeObject* const type = Py_TYPE(object);
        const bool is_container = PyType_IS_GC(type) != 0;
        if (is_container ? PyObject_IS_GC(object) == 0 || PyObject_GC_IsTracked(object) != 0
                         : registry_.reader_for(type) == nullptr) {
            return;
        }
        try {
            const auto [known, is_new] = known_.try_emplace(object, !is_container);
            if (is_new && is_container && nesting_ < kMostNesting) {
                const bool outer = std::exchange(leads_, false);
                ++nesting_;
                // Not from `traversals_`, whose entry for the holder is in use.
                python::TypeTraversal(type).visit<&visit>(object, this);
                --nesting_;
                known_.at(object) = leads_;
                leads_ = outer || leads_;
                return;
            }
            leads_ = leads_ || known->second;
        } catch (const std::bad_alloc&) {
            out_of_memory_ = true;
        }
    }

    device::OwnerRegistry& registry_;
    python::TypeTraversals traversals_;
    std::unordered_map<PyObject*, bool> known_;  // whether it is an owner or leads to one
    bool leads_ = false;                         // the container that is visited leads to an owner
    int nesting_ = 0;
    bool out_of_memory_ = false;
};

// The reachable owners. Holds strong references to them, because reading an owner
// may run user code.
class LiveOwners {
  public:
    explicit LiveOwners(device::OwnerRegistry& registry) : registry_(registry) {}

    void find() {
        // Scan before creating the list below, which makes all tracked objects reachable.
        collector::HeapScan scan;
        if (!collector::scan_heap({.generation = 2, .frozen = true}, scan)) {
            throw std::bad_alloc();
        }
        collector::release_scan_memory();  // the search for holders needs as much
        const python::OwnedRef gc = python::steal(PyImport_ImportModule("gc"));
        const python::OwnedRef tracked =
            python::steal(gc ? PyObject_CallMethod(gc.get(), "get_objects", nullptr) : nullptr);
        if (!tracked || !PyList_Check(tracked.get())) {
            PyErr_Clear();
            throw std::bad_alloc();
        }
        for (Py_ssize_t i = 0; i < PyList_GET_SIZE(tracked.get()); ++i) {
            add(PyList_GET_ITEM(tracked.get(), i), scan);
        }
        cw_object_list frozen{};
        if (cw_list_generation(kCwFrozen, &frozen) == CW_WALK_COMPLETE) {
            for (std::size_t i = 0; i < frozen.count; ++i) {
                add(frozen.objects[i], scan);
            }
        }
        if (registry_.has_untracked_owners()) {
            UntrackedOwners untracked(registry_);
            python::with_world_stopped([&] { untracked.find(tracked.get(), frozen, scan); });
            untracked.move_to(held_, owners_, untracked_);
        }
        cw_free_objects(&frozen);
    }
    // The owners without a GC header, and the untracked containers that lead to them.
    [[nodiscard]] std::span<PyObject* const> untracked() const { return untracked_; }
    [[nodiscard]] const std::vector<device::DetectedOwner>& owners() const { return owners_; }
    // Borrowed. An owner is listed once per reference that this census holds: twice if user code
    // reads the owner, because OwnerReadings then holds a second reference.
    [[nodiscard]] std::vector<PyObject*> objects() const {
        std::vector<PyObject*> objects;
        std::ranges::copy_if(untracked_, std::back_inserter(objects), [](PyObject* object) {
            return PyType_IS_GC(Py_TYPE(object)) != 0;
        });
        for (const device::DetectedOwner& owner : owners_) {
            objects.insert(objects.end(), owner.reader->runs_user_code() ? 2 : 1, owner.object);
        }
        return objects;
    }

  private:
    void add(PyObject* object, const collector::HeapScan& scan) {
        device::OwnerReader* const reader = registry_.reader_for(Py_TYPE(object));
        if (reader != nullptr && !scan.collectable.contains(object) &&
            !scan.frozen.contains(object)) {
            held_.push_back(python::borrow(object));
            owners_.push_back({object, reader});
        }
    }

    device::OwnerRegistry& registry_;
    std::vector<python::OwnedRef> held_;
    std::vector<device::DetectedOwner> owners_;
    std::vector<PyObject*> untracked_;
};

constexpr std::size_t kShownPaths = 2;
constexpr std::string_view kGradient = ".grad";

// One storage, and the owner under which it is reported.
struct LiveStorage {
    const PendingOwner* owner = nullptr;
    PyObject* object = nullptr;
    bool has_parameter = false;
    const PendingOwner* gradient = nullptr;  // the owner, if it is a gradient
    PyObject* gradient_of = nullptr;
    bool is_only_part = false;         // a part to which nothing else refers
    bool has_library_holders = false;  // also true if unknown
    std::size_t graph_nodes = 0;       // see model::LiveOwner
    std::size_t count = 1;             // of storages that are equal except for their address
    std::vector<model::RetentionPath> paths;
};

bool is_parameter(PyObject* object) {
    for (PyTypeObject* type = Py_TYPE(object); type != nullptr; type = type->tp_base) {
        if (capture::name_of_type(type).module == "torch.nn.parameter") {
            return true;
        }
    }
    return false;
}

// Decides which owner of a storage is reported. Prefers an object to a part of another object.
// Prefers a tensor to the Python object of its storage, because torch keeps that object alive as
// long as the storage.
bool is_better(const PendingOwner& owner, const PendingOwner& best) {
    return !owner.is_part &&
           (best.is_part || (best.reading.shape.empty() && !owner.reading.shape.empty()));
}

std::vector<LiveStorage> storages_of(const CapturedCollection& read,
                                     std::span<PyObject* const> objects) {
    std::vector<LiveStorage> storages(read.observation.storages.size());
    for (const PendingOwner& owner : read.owners) {
        LiveStorage& storage = storages[owner.storage];
        const bool parameter = !owner.is_part && is_parameter(objects[owner.object]);
        if (owner.reading.part.starts_with(kGradient)) {
            storage.gradient = &owner;
            storage.gradient_of = objects[owner.object];
        }
        if (storage.owner == nullptr || (parameter && !storage.has_parameter) ||
            is_better(owner, *storage.owner)) {
            storage.owner = &owner;
            storage.object = objects[owner.object];
        }
        storage.has_parameter = storage.has_parameter || parameter;
    }
    std::erase_if(storages, [](const LiveStorage& each) { return each.owner == nullptr; });
    return storages;
}

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

bool is_optimizer_state(const model::RetentionPath& path) {
    return std::ranges::any_of(path.references, [](const model::Reference& reference) {
        return reference.holder.starts_with("torch.optim.") && reference.label == ".state";
    });
}

// True if the path continues through the autograd graph of a tensor.
bool is_in_graph(const model::RetentionPath& path) {
    return std::ranges::any_of(path.references, [](const model::Reference& reference) {
        return reference.label == "grad_fn";
    });
}

// True if `storage` belongs to a torch tensor, and C code is the only known holder of the tensor.
bool is_held_by_c_code(const LiveStorage& storage) {
    return storage.owner->type.starts_with("torch.") && !storage.paths.empty() &&
           storage.paths.front().root.kind == model::RootKind::c_code;
}

// True if `tensor` is known to be the result of an operation. REQUIRES: not inside a collection.
bool is_computed(PyObject* tensor) {
    // The attribute getters of a subclass may run user code.
    const capture::TypeName name = capture::name_of_type(Py_TYPE(tensor));
    if (name.module != "torch" || name.qualname != "Tensor") {
        return false;
    }
    const python::OwnedRef is_leaf = python::steal(PyObject_GetAttrString(tensor, "is_leaf"));
    PyErr_Clear();
    return is_leaf.get() == Py_False;
}

model::OwnerCategory category_of(const LiveStorage& storage) {
    using model::OwnerCategory;
    if (storage.has_parameter) {
        return OwnerCategory::parameter;
    }
    if (storage.gradient != nullptr) {
        return OwnerCategory::gradient;
    }
    if (!storage.paths.empty() && is_optimizer_state(storage.paths.front())) {
        return OwnerCategory::optimizer_state;
    }
    // Autograd refers to the C++ tensor. Other C code, such as NumPy, refers to the tensor's Python
    // object, and `has_library_holders` does not include such references.
    if ((is_held_by_c_code(storage) && storage.has_library_holders) ||
        (!storage.paths.empty() && is_in_graph(storage.paths.front()))) {
        return OwnerCategory::saved_for_backward;
    }
    return is_computed(storage.object) ? OwnerCategory::activation : OwnerCategory::other;
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

// The owner to append to the path if the storage belongs to a part of another object, such as a
// gradient; otherwise null.
const PendingOwner* part_of(const LiveStorage& storage) {
    return storage.owner->is_part  ? storage.owner
           : storage.has_parameter ? nullptr
                                   : storage.gradient;
}

// The object to which the path search must find paths.
PyObject* held_object(const LiveStorage& storage) {
    const PendingOwner* const part = part_of(storage);
    return part != nullptr && part == storage.gradient ? storage.gradient_of : storage.object;
}

// True if only the library and this census refer to the part of `owner` that uses the storage.
bool is_only_part(device::OwnerReader& reader, PyObject* owner, const LiveStorage& storage) {
    device::OwnerReading reading;
    std::vector<device::LibraryReference> references;
    if (!storage.owner->is_part) {  // it has a Python object
        reader.add_references(owner, references);
    }
    if (reader.read(owner, reading) != device::ReadOutcome::owns) {
        return false;
    }
    reader.count_references(owner, reading);
    const auto is_part = [&](const auto& each) { return each.target == storage.object; };
    const std::int64_t ours = std::ranges::any_of(references, is_part) ? 1 : 0;
    return std::ranges::any_of(reading.parts, [&](const device::OwnerReading& part) {
        return part.storage == storage.owner->reading.storage && part.storage_references > 0 &&
               std::cmp_less_equal(part.storage_references, part.known_references + ours);
    });
}

// REQUIRES: not inside a collection. RUNS PYTHON: no user code.
void find_library_holders(device::OwnerRegistry& registry, std::vector<LiveStorage>& storages) {
    for (LiveStorage& storage : storages) {
        PyObject* const owner = held_object(storage);
        device::OwnerReader* const reader = registry.reader_for(Py_TYPE(owner));
        if (reader == nullptr || reader->runs_user_code()) {
            continue;
        }
        storage.has_library_holders = reader->library_holders(owner) != 0;
        storage.is_only_part = part_of(storage) != nullptr && is_only_part(*reader, owner, storage);
    }
}

// Counts the nodes of the autograd graphs. The newest tensors come first, because the graph of a
// result includes the graphs of what it was computed from. REQUIRES: not inside a collection. RUNS
// PYTHON: no user code.
void count_graph_nodes(device::OwnerRegistry& registry, std::vector<LiveStorage>& storages) {
    const python::GcPause pause;  // the library creates objects for the nodes
    std::map<device::OwnerReader*, std::vector<LiveStorage*>> by_reader;
    for (LiveStorage& storage : storages) {
        device::OwnerReader* const reader = registry.reader_for(Py_TYPE(storage.object));
        if (reader != nullptr && !reader->runs_user_code()) {
            by_reader[reader].push_back(&storage);
        }
    }
    for (auto& [reader, owners] : by_reader) {
        std::ranges::sort(
            owners, std::greater{}, [](const LiveStorage* each) { return each->owner->object; });
        std::vector<PyObject*> objects;
        for (const LiveStorage* const each : owners) {
            objects.push_back(each->object);
        }
        const std::vector<std::size_t> sizes = reader->graph_sizes(objects);
        for (std::size_t i = 0; i < sizes.size(); ++i) {
            owners[i]->graph_nodes = sizes[i];
        }
    }
}

void find_paths(LiveStorage& storage, PyObject* object, retention::HolderSearch& search) {
    const PendingOwner* const part = part_of(storage);
    storage.paths = search.paths(object, kShownPaths);
    // Paths that end in an attribute come first. For example, a parameter is an attribute of its
    // module, but also an item of a list in the optimizer.
    std::stable_partition(storage.paths.begin(), storage.paths.end(), &ends_in_attribute);
    for (model::RetentionPath& path : storage.paths) {
        if (part != nullptr) {
            retention::append(path, part->reading.part, part->type, storage.is_only_part);
        }
    }
}

// Storages that have equal kind_of() results and are in the same lists, sets and dicts. They are
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
        const std::uint32_t collection = collections.front();
        const auto [at, is_new] =
            known.try_emplace({kind_of(*storage.owner), std::move(collections)}, merged.size());
        if (is_new) {
            merged.push_back({&storage, collection, {object}});
        } else {
            merged[at->second].objects.insert(object);
            merged[at->second].first->count += std::exchange(storage.count, 0);
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

// The text of the first path, without indexes; "" if there is no path.
std::string path_pattern(const LiveStorage& storage) {
    return storage.paths.empty() ? "" : without_indexes(storage.paths.front().text);
}

// The properties that all storages of a group share.
std::string group_of(const LiveStorage& storage) {
    return kind_of(*storage.owner) + '\0' + path_pattern(storage);
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
            storage.paths.clear();
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

std::vector<model::LiveOwner> group(std::vector<LiveStorage>& storages) {
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
            if (is_shorter(storage.paths, group.held_by)) {
                group.held_by = std::move(storage.paths);
            }
            continue;
        }
        model::LiveOwner& group = groups.emplace_back();
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
        group.category = category_of(storage);
        group.graph_nodes = storage.graph_nodes;
        group.held_by = std::move(storage.paths);
    }
    return groups;
}

// All live owners and their readings.
struct Census {
    LiveOwners live;
    CapturedCollection read;
    DeviceFilter watched;
    OwnerReadings readings{read, watched, nullptr, nullptr};

    Census(device::OwnerRegistry& registry, const device::DeviceSelection& devices)
        : live(registry),
          watched([&devices, usable = device::accelerator_usable()](std::string_view each) {
              return devices.matches(each, usable);
          }) {
        registry.refresh();
        live.find();
        readings.read(live.owners());
        readings.read_with_user_code();
    }
};

void drop_known(std::vector<LiveStorage>& storages, ReportedStorages& known) {
    known.forget_freed();
    std::erase_if(storages, [&](const LiveStorage& each) {
        return known.contains(each.owner->reading.device, each.owner->reading.storage);
    });
}

}  // namespace

ReportedStorages live_storages(device::OwnerRegistry& registry,
                               const device::DeviceSelection& devices) {
    Census census(registry, devices);
    ReportedStorages storages;
    for (PendingOwner& owner : census.read.owners) {
        storages.add(owner.reading, std::move(owner.weakref), model::Collected{}, {});
    }
    return storages;
}

std::vector<model::LiveOwner> live_owners(device::OwnerRegistry& registry,
                                          const CensusSettings& settings) {
    const Census census(registry, settings.devices);
    const std::span<PyObject* const> objects = census.readings.objects();
    std::vector<LiveStorage> storages = storages_of(census.read, objects);
    if (settings.known != nullptr) {
        drop_known(storages, *settings.known);
    }
    drop_small(storages, settings);
    find_library_holders(registry, storages);
    count_graph_nodes(registry, storages);
    bool has_paths = find_all_paths(
        storages,
        census.live.objects(),
        retention::library_references(registry, sharing_owners(census.read, objects)),
        census.live.untracked(),
        {},
        settings);
    std::vector<PyObject*> unexplained;
    for (const LiveStorage& each : storages) {
        if (is_held_by_c_code(each)) {
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
    std::erase_if(storages, [&](const LiveStorage& each) {
        return each.count == 0 || ((has_paths || !settings.ignored.empty()) && each.paths.empty());
    });
    std::vector<model::LiveOwner> groups = group(storages);
    std::erase_if(groups,
                  [&](const model::LiveOwner& each) { return each.bytes < settings.min_bytes; });
    std::stable_sort(
        groups.begin(), groups.end(), [](const model::LiveOwner& a, const model::LiveOwner& b) {
            return a.bytes > b.bytes;
        });
    groups.resize(std::min(groups.size(), settings.top));
    return groups;
}

}  // namespace cyclewatch::watch
