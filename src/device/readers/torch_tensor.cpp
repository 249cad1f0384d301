// SPDX-License-Identifier: Apache-2.0
#include "device/readers/readers.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "device/readers/plain_attributes.h"
#include "device/readers/plain_tensors.h"
#include "device/readers/storage_alias.h"
#include "device/readers/tensor_components.h"
#include "device/readers/torch_functions.h"
#include "device/readers/torch_graph.h"
#include "device/readers/torch_hidden.h"
#include "device/readers/torch_references.h"
#include "device/readers/torch_threads.h"
#include "python/references.h"

namespace cyclewatch::device {
namespace {

using python::OwnedRef;
using python::steal;
using torch_api::call;
using torch_api::get;
using torch_api::get_counted;
using torch_api::is_true;
using torch_api::number_of;
using torch_api::WithoutTorchFunction;

// A weak reference to a StorageImpl. Does not keep the memory of the storage alive.
class TorchWeakStorage final : public WeakStorage {
  public:
    // `counted` is the address of the StorageImpl if StorageAlias can read its reference counts.
    TorchWeakStorage(const torch_api::TorchFunctions& torch,
                     OwnedRef handle,
                     std::uint64_t counted = 0) noexcept
        : torch_(torch), handle_(std::move(handle)), counted_(counted) {}
    TorchWeakStorage(const TorchWeakStorage&) = delete;
    TorchWeakStorage& operator=(const TorchWeakStorage&) = delete;
    ~TorchWeakStorage() override {
        const OwnedRef result = call(torch_.storage_free_weak_ref, handle_.get());
        PyErr_Clear();
    }
    [[nodiscard]] bool released() noexcept override {
        if (counted_ != 0) {
            return StorageAlias::strong_references(counted_) == 0;
        }
        const OwnedRef expired = call(torch_.storage_expired, handle_.get());
        PyErr_Clear();
        return expired.get() == Py_True;
    }

  private:
    const torch_api::TorchFunctions& torch_;  // owned by the reader, which is never destroyed
    OwnedRef handle_;                         // a Python int: the weak StorageImpl pointer
    std::uint64_t counted_;
};

constexpr const char* kGradient = ".grad";

class TorchReader final : public OwnerReader {
  public:
    bool set_up() {
        const bool complete = torch_api::fetch(torch_);
        has_alias_ = complete && torch_.storage_address && alias_.set_up(torch_);
        references_.set_up(torch_, has_alias_ ? &alias_ : nullptr);
        if (has_alias_ && alias_.has_marker()) {
            plain_tensors_.set_up(torch_);
            components_.set_up(torch_);
        }
        return complete;
    }

    [[nodiscard]] bool recognises(PyTypeObject* type) const noexcept override {
        return PyType_IsSubtype(type, torch_.tensor_base) != 0 ||
               PyType_IsSubtype(type, torch_.storage_base) != 0;
    }

    [[nodiscard]] ReadOutcome read(PyObject* object, OwnerReading& reading) noexcept override {
        try {
            if (read_plain(object, reading)) {
                return ReadOutcome::owns;
            }
            const ReadOutcome outcome = read_guarded(object, reading);
            PyErr_Clear();  // wrapper tensors raise; their parts are owners instead
            return outcome;
        } catch (...) {
            PyErr_Clear();
            return ReadOutcome::failed;
        }
    }

    [[nodiscard]] Py_ssize_t hidden_references(PyObject* object) noexcept override {
        const WithoutTorchFunction guard(torch_);
        const Py_ssize_t hidden = guard.entered() ? references_.hidden(object) : 0;
        PyErr_Clear();
        return hidden;
    }

    void add_references(PyObject* object, std::vector<LibraryReference>& references) override {
        const WithoutTorchFunction guard(torch_);
        if (guard.entered() && PyType_IsSubtype(Py_TYPE(object), torch_.tensor_base) != 0) {
            if (call(torch_.is_view, object).get() == Py_True) {
                const OwnedRef base = get(torch_.base, object);
                add_reference("_base", false, base, references, is_small_view(object, base));
            }
            if (torch_api::may_read_gradient(torch_, object)) {
                add_reference("grad", true, get(torch_.grad, object), references);
            }
        }
        PyErr_Clear();
    }

    void add_graph_references(std::span<PyObject* const> owners,
                              std::vector<OwnerReference>& references) override {
        if (runs_backward_elsewhere() || !TorchGraph::may_read()) {
            return;
        }
        struct Result {
            PyObject* owner;
            OwnedRef grad_fn;
            std::int64_t number;
        };
        const WithoutTorchFunction guard(torch_);
        std::vector<Result> results;
        for (PyObject* const owner : guard.entered() ? owners : std::span<PyObject* const>()) {
            if (OwnedRef grad_fn = graph_of(owner)) {
                const std::int64_t number = TorchGraph::sequence_number(grad_fn.get());
                results.push_back({owner, std::move(grad_fn), number});
            }
        }
        std::ranges::stable_sort(results, std::ranges::greater(), &Result::number);
        TorchGraph graph;
        for (Result& result : results) {
            graph.add(result.owner, std::move(result.grad_fn), references);
        }
        PyErr_Clear();
    }

    void add_graph_targets(std::span<PyObject* const> objects,
                           std::vector<GraphTarget>& targets,
                           UnreadGraphs& unread) override {
        if (runs_backward_elsewhere()) {
            unread.reason = UnreadGraphs::Reason::backward;
            return;
        }
        const WithoutTorchFunction guard(torch_);
        if (!guard.entered()) {
            PyErr_Clear();
            return;
        }
        TorchGraph graph;
        ReadGraphs known;
        const bool may_read = TorchGraph::may_read();
        std::vector<OwnedRef> held = tensors_and_nodes(objects, graph);
        std::vector<OwnedRef> saved = saved_items(objects);
        // Whether a program or only another graph holds the owner of a graph: the graphs of results
        // of earlier steps are parts of the one that the program holds.
        const auto held_by_graphs =
            std::stable_partition(held.begin(), held.end(), [&](const OwnedRef& each) {
                return is_used(each.get()) && !is_held_by_cpp_only(each.get());
            });
        const auto held_by_program = static_cast<std::size_t>(held_by_graphs - held.begin());
        for (std::size_t i = 0; i < held.size(); ++i) {
            PyObject* const object = held[i].get();
            if (!TorchGraph::may_read()) {
                if (i < held_by_program && has_graph(object)) {
                    known.unread.push_back(object);
                }
                continue;
            }
            const GraphTarget like{{}, object, i < held_by_program};
            OwnedRef node = graph_of(object);
            const bool is_owner = static_cast<bool>(node);
            if (!node && graph.is_node(object)) {
                node = python::borrow(object);
            }
            if (node) {
                const std::size_t visited = graph.add_targets(std::move(node), like, targets);
                if (is_owner && i < held_by_program) {
                    known.read.push_back({object, graph.size() - visited, graph.size()});
                }
            }
        }
        for (const OwnedRef& each : saved) {
            if (OwnedRef tensor = TorchGraph::saved_in(each.get())) {
                targets.push_back({std::move(tensor), nullptr, true});
            }
        }
        if (graph.size() > 0 && !shows_saved_tensors()) {
            unread.reason = UnreadGraphs::Reason::hidden;
        }
        if (!TorchGraph::may_read()) {
            add_unread(known, may_read ? &graph : nullptr, unread);
        }
        PyErr_Clear();
    }

    [[nodiscard]] std::vector<std::size_t> graph_sizes(std::span<PyObject* const> owners) override {
        TorchGraph graph;
        std::vector<OwnerReference> ignored;
        std::vector<std::size_t> sizes;
        if (runs_backward_elsewhere()) {
            sizes.resize(owners.size());
            return sizes;
        }
        for (PyObject* const owner : owners) {
            const std::size_t before = graph.size();
            add_graph(owner, graph, ignored);
            sizes.push_back(graph.size() - before);
            ignored.clear();
        }
        return sizes;
    }

    void add_hidden_references(std::span<PyObject* const> objects,
                               const TorchLayout& layout,
                               collector::HiddenReferences& hidden) override {
        const WithoutTorchFunction guard(torch_);
        if (guard.entered()) {
            TorchHidden(torch_, layout, hidden).add(objects);
        }
        PyErr_Clear();
    }

    // Counts the references to the C++ tensor from its views, from autograd graphs and, if it is a
    // gradient, from its tensor. The reference from the Python object is not counted.
    [[nodiscard]] Py_ssize_t library_holders(PyObject* object) noexcept override {
        const WithoutTorchFunction guard(torch_);
        const std::uint64_t count = guard.entered() ? number_of(call(torch_.use_count, object)) : 0;
        PyErr_Clear();
        return static_cast<Py_ssize_t>(count) - 1;
    }

    void count_references(PyObject* object, OwnerReading& reading) noexcept override {
        try {
            const WithoutTorchFunction guard(torch_);
            if (!guard.entered()) {
                return;
            }
            std::span<OwnerReading> parts = reading.parts;
            count(object, reading, parts);
            const auto part =
                std::ranges::find(parts, std::string_view(kGradient), &OwnerReading::part);
            if (part != parts.end()) {
                count_gradient(object, parts.subspan(part - parts.begin()));
            }
        } catch (...) {
            reading.known_references = 0;  // out of memory: counts as alive
        }
        PyErr_Clear();
    }

  private:
    void add_graph(PyObject* owner, TorchGraph& graph, std::vector<OwnerReference>& references) {
        const WithoutTorchFunction guard(torch_);
        if (guard.entered()) {
            if (OwnedRef grad_fn = graph_of(owner)) {
                graph.add(owner, std::move(grad_fn), references);
            }
        }
        PyErr_Clear();
    }

    // Those among `objects`. Strong references, because reading a node creates and frees objects,
    // and in other versions of torch, may release the GIL.
    [[nodiscard]] std::vector<OwnedRef> tensors_and_nodes(std::span<PyObject* const> objects,
                                                          TorchGraph& graph) const {
        std::vector<OwnedRef> found;
        for (PyObject* const object : objects) {
            if (PyType_IsSubtype(Py_TYPE(object), torch_.tensor_base) != 0 ||
                graph.is_node(object)) {
                found.push_back(python::borrow(object));
            }
        }
        return found;
    }

    // False before some version between torch 2.6 and 2.11.
    [[nodiscard]] bool shows_saved_tensors() const {
        auto* const type = reinterpret_cast<PyObject*>(torch_.saved_tensor);
        return type != nullptr && PyObject_HasAttrString(type, "data") != 0;
    }

    // The SavedTensor objects in lists. The collector does not track these objects, in which Python
    // code keeps tensors, as torch.utils.checkpoint does.
    [[nodiscard]] std::vector<OwnedRef> saved_items(std::span<PyObject* const> objects) const {
        std::vector<OwnedRef> found;
        for (PyObject* const list : objects) {
            if (torch_.saved_tensor == nullptr || !PyList_CheckExact(list)) {
                continue;
            }
            for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) {
                PyObject* const item = PyList_GET_ITEM(list, i);
                if (item != nullptr && Py_TYPE(item) == torch_.saved_tensor) {
                    found.push_back(python::borrow(item));
                }
            }
        }
        return found;
    }

    // The owners of graphs that add_graph_targets() has read, and of those that it has not.
    struct ReadGraphs {
        struct Owner {
            PyObject* object;
            std::size_t begin, end;  // the nodes that were visited for this owner
        };
        std::vector<Owner> read;
        std::vector<PyObject*> unread;
    };

    // `graph`: null if no graph may be read, because an earlier one was too large.
    void add_unread(const ReadGraphs& known, TorchGraph* graph, UnreadGraphs& unread) const {
        unread.holders.insert(known.unread.begin(), known.unread.end());
        if (graph != nullptr || !unread.holders.empty()) {
            unread.reason = UnreadGraphs::Reason::too_many_nodes;
        }
        const auto largest = std::ranges::max_element(
            known.read, {}, [](const ReadGraphs::Owner& each) { return each.end - each.begin; });
        if (graph == nullptr || largest == known.read.end()) {
            return;
        }
        for (const ReadGraphs::Owner& each : known.read) {
            unread.holders.insert(each.object);
        }
        if (largest->end - largest->begin < TorchGraph::kMostNodes / 2) {
            return;
        }
        const std::unordered_set<PyObject*> nodes =
            graph->nodes_between(largest->begin, largest->end);
        std::size_t budget = TorchGraph::kMostNodes / 10;
        std::erase_if(unread.holders, [&](PyObject* holder) {
            const OwnedRef node = graph_of(holder);
            return !node || !graph->leads_to(node.get(), nodes, budget);
        });
    }

    // True if C++ code keeps the Python object of a tensor, and only add_graph_targets() and its
    // caller also refer to it.
    [[nodiscard]] bool is_held_by_cpp_only(PyObject* object) const {
        return Py_REFCNT(object) <= 3 &&
               PyType_IsSubtype(Py_TYPE(object), torch_.tensor_base) != 0 &&
               references_.hidden(object) == 1;
    }

    // False for the object of a node if only the node and add_graph_targets() refer to it. In torch
    // 2.11, a node does not refer to its object.
    [[nodiscard]] bool is_used(PyObject* object) const {
        return PyType_IsSubtype(Py_TYPE(object), torch_.tensor_base) != 0 || !nodes_own_objects_ ||
               Py_REFCNT(object) > 2;
    }

    // True if graph_of() would return a node. Does not cause torch to create an object for it.
    [[nodiscard]] bool has_graph(PyObject* object) const {
        const bool found = PyType_IsSubtype(Py_TYPE(object), torch_.tensor_base) != 0 &&
                           torch_api::may_read_graph(torch_, object) &&
                           get(torch_.is_leaf, object).get() == Py_False;
        PyErr_Clear();
        return found;
    }

    // The last node of the graph of a tensor; null if `object` has none.
    [[nodiscard]] OwnedRef graph_of(PyObject* object) const {
        if (PyType_IsSubtype(Py_TYPE(object), torch_.tensor_base) == 0 ||
            !torch_api::may_read_graph(torch_, object)) {
            return {};
        }
        OwnedRef grad_fn = get(torch_.grad_fn, object);
        PyErr_Clear();
        nodes_own_objects_ = nodes_own_objects_ && (!grad_fn || Py_REFCNT(grad_fn.get()) > 1);
        return grad_fn.get() == Py_None ? OwnedRef() : std::move(grad_fn);
    }

    static void add_reference(const char* attribute,
                              bool removable,
                              const OwnedRef& target,
                              std::vector<LibraryReference>& references,
                              bool is_small_view = false) {
        if (target && target.get() != Py_None) {
            references.push_back({.attribute = attribute,
                                  .removable = removable,
                                  .target = target.get(),
                                  .is_small_view = is_small_view});
        }
    }

    [[nodiscard]] bool is_small_view(PyObject* view, const OwnedRef& base) const noexcept {
        const std::uint64_t bytes =
            base && base.get() != Py_None ? number_of(get(torch_.tensor_bytes, base.get())) : 0;
        return bytes > 0 && number_of(get(torch_.tensor_bytes, view)) <= bytes / 2;
    }

    bool read_plain(PyObject* object, OwnerReading& reading) {
        const std::uint64_t storage = plain_tensors_.read(object, reading);
        OwnedRef handle = steal(storage != 0 ? PyLong_FromUnsignedLongLong(storage) : nullptr);
        if (!handle) {
            return false;
        }
        reading.weak_storage =
            std::make_unique<TorchWeakStorage>(torch_, std::move(handle), storage);
        StorageAlias::add_weak_reference(storage);
        reading.goes_with_storage = StorageAlias::strong_references(storage) == 1;
        return true;
    }

    ReadOutcome read_guarded(PyObject* object, OwnerReading& reading) {
        if (PyType_IsSubtype(Py_TYPE(object), torch_.storage_base) != 0) {
            return read_storage(object, reading);
        }
        if (Py_TYPE(object) == torch_.tensor && !is_true(torch_.mode_enabled)) {
            return read_tensor(object, reading);  // no __torch_function__ to disable
        }
        const WithoutTorchFunction guard(torch_);
        return guard.entered() ? read_tensor(object, reading) : ReadOutcome::failed;
    }

    ReadOutcome read_tensor(PyObject* tensor, OwnerReading& reading) {
        const Kind kind = kind_of(tensor);
        const ReadOutcome outcome = read_memory(tensor, kind, reading);
        if (outcome == ReadOutcome::owns) {
            add_gradient(tensor, reading);
            reading.has_graph = torch_api::may_read_graph(torch_, tensor) &&
                                get(torch_.is_leaf, tensor).get() == Py_False;
            if (!kind.has_components) {
                plain_tensors_.learn(tensor, reading);
            }
        }
        return outcome;
    }

    // A sparse or nested tensor has components. torch throws a C++ exception if the storage of such
    // a tensor is requested.
    struct Kind {
        bool in_python = false;
        bool has_components = false;
    };
    [[nodiscard]] Kind kind_of(PyObject* tensor) const noexcept {
        Kind kind{.in_python = dispatches_to_python(Py_TYPE(tensor)), .has_components = false};
        kind.has_components =
            !kind.in_python && (get(torch_.layout, tensor).get() != torch_.strided.get() ||
                                get(torch_.is_nested, tensor).get() == Py_True);
        return kind;
    }

    ReadOutcome read_memory(PyObject* tensor, Kind kind, OwnerReading& reading) {
        return kind.has_components ? read_components(tensor, reading)
                                   : read_own_storage(tensor, kind.in_python, reading);
    }

    // The storage of the values is reported as the owner's storage, and the storages of the indices
    // as parts.
    ReadOutcome read_components(PyObject* tensor, OwnerReading& reading) {
        components_.visit(tensor, [&](const TensorComponent& component) {
            OwnerReading part;
            if (read_own_storage(component.tensor, false, part) != ReadOutcome::owns) {
                return;
            }
            part.goes_with_storage =
                part.goes_with_storage && number_of(call(torch_.use_count, component.tensor)) == 1;
            if (reading.storage == 0) {
                reading = std::move(part);
            } else {
                part.part = component.label;
                reading.parts.push_back(std::move(part));
            }
        });
        if (reading.storage != 0 && get(torch_.is_nested, tensor).get() != Py_True &&
            !is_true(torch_.is_tracing)) {
            reading.shape = shape_text(get(torch_.shape, tensor).get());
        }
        return reading.storage == 0 ? ReadOutcome::owns_nothing : ReadOutcome::owns;
    }

    ReadOutcome read_own_storage(PyObject* tensor, bool in_python, OwnerReading& reading) {
        if (!has_storage(tensor)) {
            return ReadOutcome::owns_nothing;
        }
        // The address is read first. A storage without an address may have a symbolic size, and
        // evaluating a symbolic size during torch.export() would add a guard. The storage's
        // data_ptr() is not used, because it copies a copy-on-write storage.
        reading.storage = number_of(call(torch_.data_address, tensor));
        if (reading.storage == 0) {
            return ReadOutcome::owns_nothing;  // a wrapper, fake or empty tensor
        }
        const ReadOutcome outcome = read_storage_of(tensor, reading);
        if (outcome == ReadOutcome::owns) {
            reading.dtype = dtype_of(tensor);
            // Under torch.jit.trace(), reading the shape adds the tensor to the trace.
            reading.shape = in_python || is_true(torch_.is_tracing)
                                ? ""
                                : shape_text(get(torch_.shape, tensor).get());
        }
        return outcome;
    }

    [[nodiscard]] bool has_storage(PyObject* tensor) const noexcept {
        const OwnedRef has_storage = call(torch_.has_storage, tensor);
        PyErr_Clear();
        return has_storage.get() != Py_False;  // tensors wrapped by vmap() have none
    }

    ReadOutcome read_storage_of(PyObject* tensor, OwnerReading& reading) {
        if (!has_alias_) {
            const OwnedRef storage = storage_object_of(tensor, reading);
            return storage ? read_rest_of_storage(storage.get(), reading)
                           : ReadOutcome::owns_nothing;
        }
        const OwnedRef address = call(torch_.storage_address, tensor);
        const std::uint64_t storage = number_of(address);
        if (storage == 0) {
            return ReadOutcome::owns_nothing;
        }
        const StorageAlias::View view(alias_, storage);
        const ReadOutcome outcome = read_rest_of_storage(view.object(), reading);
        // Avoid a weak reference to the tensor if possible, because the tensor's finalizers can see
        // it, and torch.utils.swap_tensors() rejects tensors that have weak references.
        reading.goes_with_storage =
            reading.weak_storage && number_of(call(torch_.storage_use_count, address.get())) == 1;
        return outcome;
    }

    // The reference from a tensor to its gradient is stored in C++ and is therefore invisible to
    // the collector.
    void add_gradient(PyObject* tensor, OwnerReading& reading) {
        if (!torch_api::may_read_gradient(torch_, tensor)) {
            return;
        }
        OwnerReading part;
        const OwnedRef gradient =
            get_counted([&] { return get(torch_.grad, tensor); }, part.left_objects);
        if (gradient && gradient.get() != Py_None &&
            read_memory(gradient.get(), kind_of(gradient.get()), part) == ReadOutcome::owns) {
            std::vector<OwnerReading> indices = std::exchange(part.parts, {});
            part.part = kGradient;
            reading.parts.push_back(std::move(part));
            for (OwnerReading& each : indices) {
                each.part.insert(0, kGradient);
                reading.parts.push_back(std::move(each));
            }
        }
    }

    // Sets the reference counts of `reading`, and of those `parts` that are components of `tensor`.
    void count(PyObject* tensor, OwnerReading& reading, std::span<OwnerReading> parts) {
        if (PyType_IsSubtype(Py_TYPE(tensor), torch_.tensor_base) == 0 ||
            !kind_of(tensor).has_components) {
            references_.count(tensor, reading);
            return;
        }
        components_.visit(tensor, [&](const TensorComponent& component) {
            const std::uint64_t storage = number_of(call(torch_.data_address, component.tensor));
            const auto part = std::ranges::find(parts, storage, &OwnerReading::storage);
            OwnerReading& counted = part != parts.end() ? *part : reading;
            if (counted.storage != storage) {
                return;  // empty
            }
            if (component.is_temporary) {
                counted.storage_references = 1;  // at least one; there may be others
                return;
            }
            references_.count(component.tensor, counted);
            counted.known_references -= library_holders(tensor);
        });
    }

    // `parts` contains the elements of OwnerReading::parts that belong to the gradient.
    void count_gradient(PyObject* tensor, std::span<OwnerReading> parts) {
        const OwnedRef gradient = get(torch_.grad, tensor);
        if (!gradient || gradient.get() == Py_None) {
            return;
        }
        count(gradient.get(), parts.front(), parts.subspan(1));
        for (OwnerReading& part : parts) {
            part.known_references += TorchReferences::known_to_gradient(gradient.get());
        }
    }

    // If torch creates the storage object during this call, the object is untracked, so that
    // gc.get_objects() does not list it. This is safe because the storage object does not refer to
    // other objects. A gradient remains tracked, because training code accesses it anyway.
    OwnedRef storage_object_of(PyObject* tensor, OwnerReading& reading) {
        const int left_objects = reading.left_objects;
        OwnedRef storage =
            get_counted([&] { return call(torch_.untyped_storage, tensor); }, reading.left_objects);
        if (reading.left_objects > left_objects) {
            PyObject_GC_UnTrack(storage.get());
        }
        return storage;
    }

    ReadOutcome read_storage(PyObject* storage, OwnerReading& reading) {
        // The storage of a wrapper subclass may have a symbolic size, and has no address.
        const OwnedRef bytes = call(torch_.storage_bytes, storage);
        if (!bytes || !PyLong_CheckExact(bytes.get()) || device_of(storage) == "meta") {
            return ReadOutcome::owns_nothing;
        }
        reading.storage = number_of(call(torch_.storage_data_ptr, storage));
        return reading.storage == 0 ? ReadOutcome::owns_nothing
                                    : read_rest_of_storage(storage, reading);
    }

    // Reads everything except the address.
    ReadOutcome read_rest_of_storage(PyObject* storage, OwnerReading& reading) {
        reading.device = device_of(storage);
        reading.bytes = number_of(call(torch_.storage_bytes, storage));
        if (reading.bytes == 0 || reading.device == "meta") {
            return ReadOutcome::owns_nothing;
        }
        if (OwnedRef handle = call(torch_.storage_weak_ref, storage)) {
            reading.weak_storage = std::make_unique<TorchWeakStorage>(torch_, std::move(handle));
        }
        return reading.device.empty() ? ReadOutcome::failed : ReadOutcome::owns;
    }

    // The text of each device is cached, because torch creates a new torch.device for each access
    // and formats it with a C++ stream. Comparing two torch.device objects only runs C code.
    const std::string& device_of(PyObject* storage) {
        static const std::string unknown;
        OwnedRef device = get(torch_.storage_device, storage);
        if (!device || Py_TYPE(device.get()) != torch_.device) {
            return unknown;
        }
        for (const auto& [known, name] : devices_) {
            if (PyObject_RichCompareBool(known.get(), device.get(), Py_EQ) == 1) {
                return name;
            }
        }
        std::string name = name_of_device(device.get());
        if (name.empty()) {
            return unknown;
        }
        return devices_.emplace_back(std::move(device), std::move(name)).second;
    }

    std::string name_of_device(PyObject* device) const {
        const OwnedRef type = get(torch_.device_type, device);
        const OwnedRef index = get(torch_.device_index, device);
        if (!type || !index) {
            return {};
        }
        std::string text(utf8(type.get()));
        if (PyLong_Check(index.get())) {
            text += ':' + std::to_string(PyLong_AsLong(index.get()));
        }
        return text;
    }

    // The names are cached by address, because there are few dtypes, and dtypes are never freed.
    const std::string& dtype_of(PyObject* tensor) {
        static const std::string unknown;
        const OwnedRef dtype = get(torch_.dtype, tensor);
        if (!dtype) {
            return unknown;
        }
        const auto known = dtypes_.find(dtype.get());
        if (known != dtypes_.end()) {
            return known->second;
        }
        // PyObject_Repr() is not used, because it may run the program's signal handlers.
        const OwnedRef text = steal(Py_TYPE(dtype.get())->tp_repr(dtype.get()));
        std::string name(utf8(text.get()));
        if (name.starts_with("torch.")) {
            name.erase(0, std::string_view("torch.").size());
        }
        return dtypes_.emplace(dtype.get(), std::move(name)).first->second;
    }

    // True if the size accessors of a tensor of this type may run Python code: a subclass defines
    // __torch_dispatch__. (The method of torch.Tensor itself is disabled.)
    bool dispatches_to_python(PyTypeObject* type) const noexcept {
        PyObject* const mro = type->tp_mro;
        for (Py_ssize_t i = 0; mro != nullptr && i < PyTuple_GET_SIZE(mro); ++i) {
            auto* const base = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(mro, i));
            if (base == torch_.tensor || base == torch_.tensor_base) {
                return false;
            }
            if (base->tp_dict != nullptr &&
                PyDict_GetItemString(base->tp_dict, "__torch_dispatch__") != nullptr) {
                return true;
            }
        }
        return true;
    }

    torch_api::TorchFunctions torch_;
    StorageAlias alias_;
    bool has_alias_ = false;
    mutable bool nodes_own_objects_ = true;  // until graph_of() sees that they do not
    TensorComponents components_;
    TorchReferences references_;
    PlainTensors plain_tensors_;
    std::unordered_map<PyObject*, std::string> dtypes_;
    std::vector<std::pair<OwnedRef, std::string>> devices_;
};

}  // namespace

std::unique_ptr<OwnerReader> make_torch_reader() noexcept {
    try {
        auto reader = std::make_unique<TorchReader>();
        const bool ready = reader->set_up();
        PyErr_Clear();
        return ready ? std::move(reader) : nullptr;
    } catch (...) {
        PyErr_Clear();
        return nullptr;
    }
}

}  // namespace cyclewatch::device
