// SPDX-License-Identifier: Apache-2.0
#include "device/readers/torch_hidden.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <string_view>

#include "device/readers/plain_attributes.h"
#include "device/readers/torch_threads.h"
#include "device/readers/torch_traverse.h"
#include "python/references.h"
#include "python/type_traversal.h"

namespace cyclewatch::device {

using model::EdgeKind;
using python::OwnedRef;
using python::steal;
using torch_api::call;
using torch_api::get;
using torch_api::number_of;

namespace {

constexpr std::string_view kSavedPrefix = "_raw_saved_";
constexpr std::string_view kGraphOfTensor = "grad_fn";
constexpr std::array kHookNames{"autograd hook", "autograd pre-hook", "tensor hook"};

// REQUIRES: the layout was verified, so that `address` is that of an object of the expected type.
std::uintptr_t word_at(std::uintptr_t address, std::size_t offset) noexcept {
    std::uintptr_t word = 0;
    std::memcpy(&word, reinterpret_cast<const void*>(address + offset), sizeof(word));
    return word;
}

PyObject* object_at(std::uintptr_t address, std::size_t offset) noexcept {
    return reinterpret_cast<PyObject*>(word_at(address, offset));
}

// A SavedTensor whose Python object owns the SavedVariable.
bool is_standalone_saved(PyObject* object, const TorchLayout& layout) noexcept {
    const TorchLayout::StandaloneSaved& saved = layout.standalone_saved;
    return saved.type != 0 && reinterpret_cast<std::uintptr_t>(Py_TYPE(object)) == saved.type &&
           word_at(reinterpret_cast<std::uintptr_t>(object), saved.offset) == saved.word;
}

struct StandaloneSavedSearch {
    const TorchLayout& layout;
    std::vector<PyObject*> found{};
    bool out_of_memory = false;

    static int visit(PyObject* target, void* context) noexcept {
        auto& self = *static_cast<StandaloneSavedSearch*>(context);
        try {
            if (target != nullptr && is_standalone_saved(target, self.layout)) {
                self.found.push_back(target);
            }
        } catch (const std::bad_alloc&) {
            self.out_of_memory = true;
        }
        return 0;
    }
};

}  // namespace

// 0 for the context of a torch.autograd.Function that has not been applied.
std::uintptr_t TorchHidden::address_of(PyObject* node) const noexcept {
    const bool is_python = torch_.function_base != nullptr &&
                           PyType_IsSubtype(Py_TYPE(node), torch_.function_base) != 0;
    return word_at(reinterpret_cast<std::uintptr_t>(node),
                   is_python ? layout_.node_in_function : layout_.node_in_wrapper);
}

void TorchHidden::enqueue(PyObject* object) {
    if (seen_.size() >= layout_.most_nodes) {
        hidden_.omits_nodes = hidden_.omits_nodes || !seen_.contains(object);
    } else if (seen_.insert(object).second) {
        hidden_.held.push_back(python::borrow(object));
        pending_.push_back(object);
    }
}

collector::HiddenReference& TorchHidden::refer(
    PyObject* holder, PyObject* target, std::string name, EdgeKind kind, std::uint32_t index) {
    collector::HiddenReference& added = hidden_.references.emplace_back(
        collector::HiddenReference{holder, target, kind, std::move(name), index});
    added.is_visited_unless_shared = added.name == kGraphOfTensor;
    return added;
}

void TorchHidden::add_tensor(PyObject* tensor) {
    const auto refer_to = [&](const OwnedRef& target, std::string_view name, EdgeKind kind) {
        if (target && target.get() != Py_None) {
            refer(tensor, target.get(), std::string(name), kind);
            enqueue(target.get());
        }
    };
    if (call(torch_.is_view, tensor).get() == Py_True) {
        refer_to(get(torch_.base, tensor), "_base", EdgeKind::member);
    }
    if (layout_.nodes && torch_api::may_read_graph(torch_, tensor)) {
        refer_to(get(torch_.grad_fn, tensor), kGraphOfTensor, EdgeKind::member);
    } else if (layout_.node_in_tensor) {
        add_stale_node(tensor);
    }
    if (layout_.gradients && may_read_gradient(tensor)) {
        refer_to(get(torch_.grad, tensor), "grad", EdgeKind::attribute);
    }
    if (layout_.post_accumulate) {
        const OwnedRef hooks = get(torch_.post_accumulate_hooks, tensor);
        if (hooks && PyDict_Check(hooks.get())) {
            // The Python object and the C++ object refer to the same dict.
            refer(tensor, hooks.get(), "_post_accumulate_grad_hooks");
            refer(tensor, hooks.get(), "_post_accumulate_grad_hooks");
        }
    }
    PyErr_Clear();
}

// Reading `grad` of a tensor that is not a leaf and does not retain its gradient warns if it has
// none.
bool TorchHidden::may_read_gradient(PyObject* tensor) const noexcept {
    if (torch_api::may_read_gradient(torch_, tensor)) {
        return true;
    }
    if (!layout_.gradient_in_data || !torch_api::may_read_graph(torch_, tensor)) {
        return false;
    }
    const std::uintptr_t data = autograd_data_of(tensor);
    const auto [offset, none] = *layout_.gradient_in_data;
    return data != 0 && word_at(data, offset) != none;
}

std::uintptr_t TorchHidden::autograd_data_of(PyObject* tensor) const noexcept {
    const std::uintptr_t address = number_of(get(torch_.tensor_cdata, tensor));
    return address == 0 ? 0 : word_at(address, layout_.node_in_tensor->first);
}

// Reading `grad_fn` of a view whose base was modified may replace the node. Parameters are modified
// by their initialization and by each step of an optimizer.
void TorchHidden::add_stale_node(PyObject* tensor) {
    const std::uintptr_t data = autograd_data_of(tensor);
    if (const std::uintptr_t node = data == 0 ? 0 : word_at(data, layout_.node_in_tensor->second);
        node != 0) {
        addressed_nodes_.push_back({tensor, node, std::string(kGraphOfTensor), true});
    }
}

void TorchHidden::add_node(PyObject* node) {
    const std::uintptr_t address = address_of(node);
    if (address == 0) {
        return;
    }
    nodes_.emplace(address, node);
    const NodeGetters& getters = types_.of(Py_TYPE(node));
    const OwnedRef next = read(getters.next, node);
    for (Py_ssize_t i = 0; next && PyTuple_Check(next.get()) && i < PyTuple_GET_SIZE(next.get());
         ++i) {
        PyObject* const pair = PyTuple_GET_ITEM(next.get(), i);
        if (PyTuple_Check(pair) && PyTuple_GET_SIZE(pair) == 2 &&
            PyTuple_GET_ITEM(pair, 0) != Py_None) {
            refer(node,
                  PyTuple_GET_ITEM(pair, 0),
                  "next_functions",
                  EdgeKind::member_item,
                  static_cast<std::uint32_t>(i));
            enqueue(PyTuple_GET_ITEM(pair, 0));
        }
    }
    if (const OwnedRef variable = read(getters.variable, node);
        variable && is_tensor(variable.get())) {
        refer(node, variable.get(), "variable");
        enqueue(variable.get());
    }
    for (PyObject* const getter : layout_.saved ? getters.saved : std::vector<PyObject*>()) {
        const OwnedRef saved = read(getter, node);
        const char* const name = reinterpret_cast<PyGetSetDescrObject*>(getter)->d_getset->name;
        const std::string text = "saved:" + std::string(name + kSavedPrefix.size());
        if (!saved || !PyTuple_Check(saved.get())) {
            add_saved(node, text, saved.get(), EdgeKind::member, 0);
            continue;
        }
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(saved.get()); ++i) {
            add_saved(node,
                      text,
                      PyTuple_GET_ITEM(saved.get(), i),
                      EdgeKind::member_item,
                      static_cast<std::uint32_t>(i));
        }
    }
    if (layout_.copy_slices.second != 0 && word_at(address, 0) == layout_.copy_slices.first) {
        if (const std::uintptr_t copy = word_at(address, layout_.copy_slices.second); copy != 0) {
            addressed_nodes_.push_back({node, copy, "fn", true});
        }
    }
    add_hooks(node, address);
}

// `saved` is a torch._C._autograd.SavedTensor, or None if nothing was saved.
void TorchHidden::add_saved(PyObject* holder,
                            const std::string& name,
                            PyObject* saved,
                            EdgeKind kind,
                            std::uint32_t index) {
    if (saved == nullptr || saved == Py_None || layout_.saved_in_wrapper == 0 ||
        Py_TYPE(saved)->tp_basicsize <
            static_cast<Py_ssize_t>(layout_.saved_in_wrapper + sizeof(std::uintptr_t))) {
        return;
    }
    const std::uintptr_t variable =
        word_at(reinterpret_cast<std::uintptr_t>(saved), layout_.saved_in_wrapper);
    const OwnedRef unpack = steal(PyObject_GetAttrString(saved, "unpack_hook"));
    if (unpack && unpack.get() == Py_None) {
        const OwnedRef data = steal(PyObject_GetAttrString(saved, "data"));
        if (data && is_tensor(data.get())) {
            refer(holder, data.get(), name, kind, index);
            enqueue(data.get());
        }
    }
    PyErr_Clear();
    if (!layout_.saved_hooks) {
        return;
    }
    for (const std::size_t offset : layout_.saved_nodes) {
        if (const std::uintptr_t address = word_at(variable, offset); address != 0) {
            addressed_nodes_.push_back({holder, address, name + ".grad_fn"});
        }
    }
    const std::uintptr_t hooks = word_at(variable, layout_.saved_hooks->offset);
    if (hooks == 0 || word_at(hooks, 0) != layout_.saved_hooks->type) {
        return;
    }
    const std::array<std::string, 3> names{"pack_hook", "unpack_hook", name};
    for (std::size_t i = 0; i < names.size(); ++i) {
        PyObject* const target = object_at(hooks, layout_.saved_hooks->objects[i]);
        if (target != nullptr) {
            const EdgeKind of_target = i == 2 ? kind : EdgeKind::member;
            refer(holder, target, names[i], of_target, index).is_to_cpp_object = false;
            if (is_tensor(target)) {
                enqueue(target);
            }
        }
    }
}

void TorchHidden::add_hooks(PyObject* node, std::uintptr_t address) {
    for (std::size_t i = 0; i < layout_.hook_lists.size(); ++i) {
        const TorchLayout::Holder& list = layout_.hook_lists[i];
        const std::uintptr_t end = word_at(address, list.offset + sizeof(std::uintptr_t));
        for (std::uintptr_t at = word_at(address, list.offset); at != end;
             at += sizeof(std::uintptr_t)) {
            const std::uintptr_t hook = word_at(at, 0);
            if (hook != 0 && word_at(hook, 0) == list.type) {
                refer(
                    node, object_at(hook, list.objects.front()), kHookNames.at(i), EdgeKind::hook);
            }
        }
    }
    if (!layout_.metadata) {
        return;
    }
    const std::uintptr_t metadata = word_at(address, layout_.metadata->offset);
    if (metadata != 0 && word_at(metadata, 0) == layout_.metadata->type) {
        PyObject* const dict = object_at(metadata, layout_.metadata->objects.front());
        if (dict != nullptr) {
            refer(node, dict, "metadata");
        }
    }
}

// A saved tensor with hooks, and a view, keep their nodes alive. A node has a Python object if
// another reference leads to it.
void TorchHidden::add_addressed_nodes() {
    for (const AddressedNode& each : addressed_nodes_) {
        if (const auto found = nodes_.find(each.address); found != nodes_.end()) {
            refer(each.holder, found->second, each.name);
        } else if (layout_.next_nodes && each.is_only_holder) {
            add_unwrapped_node(each.holder, each.address, each.name);
        }
    }
}

// The node has no Python object. If `owner` has the only reference to the node, the two live
// equally long, and the references of the node count as references of `owner`.
void TorchHidden::add_unwrapped_node(PyObject* owner,
                                     std::uintptr_t address,
                                     const std::string& name) {
    constexpr std::uintptr_t kMostEdges = 1 << 20;
    std::vector<std::uintptr_t> pending{address};
    while (!pending.empty()) {
        const std::uintptr_t node = pending.back();
        pending.pop_back();
        if (const auto found = nodes_.find(node); found != nodes_.end()) {
            refer(owner, found->second, name);
            continue;
        }
        const bool is_only = (word_at(node, sizeof(std::uintptr_t)) & UINT32_MAX) == 1;
        if (!is_only || !unwrapped_.insert(node).second) {
            continue;  // something else refers to the node, too
        }
        if (word_at(node, 0) == layout_.accumulate_grad.first) {
            if (PyObject* const leaf = tensor_at(word_at(node, layout_.accumulate_grad.second))) {
                refer(owner, leaf, name);
            }
        }
        const auto [offset, stride] = *layout_.next_nodes;
        const std::uintptr_t begin = word_at(node, offset);
        const std::uintptr_t end = word_at(node, offset + sizeof(std::uintptr_t));
        for (std::uintptr_t at = begin; at < end && end - begin < kMostEdges; at += stride) {
            if (const std::uintptr_t next = word_at(at, 0); next != 0) {
                pending.push_back(next);
            }
        }
    }
}

PyObject* TorchHidden::tensor_at(std::uintptr_t address) {
    if (tensors_.empty()) {
        for (const OwnedRef& each : hidden_.held) {
            if (is_tensor(each.get())) {
                tensors_.emplace(number_of(get(torch_.tensor_cdata, each.get())), each.get());
            }
        }
        PyErr_Clear();
    }
    const auto found = tensors_.find(address);
    return address == 0 || found == tensors_.end() ? nullptr : found->second;
}

// The number of references from outside the pair of Python object and C++ object is the reference
// count of the Python object plus the number added here. C++ owns one reference to the Python
// object if there are other references to the C++ object.
void TorchHidden::add_count(PyObject* object) {
    std::uint64_t strong = 0;
    if (is_tensor(object)) {
        strong = number_of(call(torch_.use_count, object));
    } else if (is_standalone_saved(object, layout_)) {
        return;  // only the Python object refers to the SavedVariable
    } else if (const std::uintptr_t address = address_of(object); address != 0) {
        strong = word_at(address, sizeof(std::uintptr_t)) & UINT32_MAX;
    }
    if (strong > 1) {
        hidden_.counts.emplace_back(object, static_cast<Py_ssize_t>(strong) - 2);
    }
}

// These objects have no GC header, so `objects` does not contain them.
void TorchHidden::enqueue_standalone_saved(std::span<PyObject* const> objects) {
    if (layout_.standalone_saved.type == 0) {
        return;
    }
    StandaloneSavedSearch search{layout_};
    python::TypeTraversals traversals;
    for (PyObject* const object : objects) {
        traversals.of(Py_TYPE(object)).visit<&StandaloneSavedSearch::visit>(object, &search);
    }
    if (search.out_of_memory) {
        throw std::bad_alloc();
    }
    for (PyObject* const each : search.found) {
        if (seen_.size() < layout_.most_nodes && !seen_.contains(each)) {
            hidden_.untracked.push_back(each);
        }
        enqueue(each);
    }
}

void TorchHidden::add(std::span<PyObject* const> objects) {
    if (!layout_.tensors || !torch_.use_count) {
        return;
    }
    if (runs_backward_elsewhere()) {
        hidden_.omits_running_graph = true;
        return;
    }
    std::unordered_map<PyTypeObject*, bool> is_examined;
    for (PyObject* const object : objects) {
        const auto [known, is_new] = is_examined.try_emplace(Py_TYPE(object));
        if (is_new) {
            known->second =
                is_tensor(object) || (layout_.nodes && types_.of(Py_TYPE(object)).next != nullptr);
        }
        if (known->second) {
            enqueue(object);
        }
    }
    enqueue_standalone_saved(objects);
    while (!pending_.empty()) {
        PyObject* const object = pending_.back();
        pending_.pop_back();
        if (is_tensor(object)) {
            add_tensor(object);
        } else if (is_standalone_saved(object, layout_)) {
            add_saved(object, "data", object, EdgeKind::member, 0);
        } else {
            add_node(object);
        }
    }
    hidden_.explains_tensors = true;
    add_addressed_nodes();
    hidden_.sort();
    mark_visited(hidden_);
    uncount_hooks_of_leaves(hidden_);
    for (const OwnedRef& held : hidden_.held) {
        add_count(held.get());
    }
}

}  // namespace cyclewatch::device
