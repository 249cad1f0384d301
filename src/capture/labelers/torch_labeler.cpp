// SPDX-License-Identifier: Apache-2.0
// Recognizes torch objects by the names of their types. Never calls torch functions, because some
// getters create tensors or run __torch_function__.
#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "capture/class_code.h"
#include "capture/labelers/labelers.h"
#include "capture/labelers/text.h"
#include "capture/labelers/visit.h"
#include "compat/native_members.h"

namespace cyclewatch::capture {
namespace {

struct HookDict {
    std::string_view attribute;
    std::string_view label;
};

// The dicts filled by nn.Module.register_*_hook(). Their keys are handle numbers.
constexpr std::array kHookDicts{
    HookDict{"_forward_hooks", "forward hook"},
    HookDict{"_forward_pre_hooks", "forward pre-hook"},
    HookDict{"_backward_hooks", "backward hook"},
    HookDict{"_backward_pre_hooks", "backward pre-hook"},
    HookDict{"_state_dict_hooks", "state_dict hook"},
    HookDict{"_state_dict_pre_hooks", "state_dict pre-hook"},
    HookDict{"_load_state_dict_pre_hooks", "load_state_dict pre-hook"},
    HookDict{"_load_state_dict_post_hooks", "load_state_dict post-hook"}};

constexpr std::array kTensorHooks{
    HookDict{"_backward_hooks", "tensor hook"},
    HookDict{"_post_accumulate_grad_hooks", "post-accumulate-grad hook"}};

PyTypeObject* tensor_base(PyTypeObject* type) noexcept {
    PyTypeObject* const base = base_named(type, "torch._C.TensorBase");
    return base == nullptr ? base_named(type, "torch._C._TensorBase") : base;
}

// The label of the hooks in `dict`, a referent of `tensor`; "" for any other referent. Compares
// addresses only.
std::string_view label_of_tensor_hooks(PyObject* tensor, const PyObject* dict) noexcept {
    const PyTypeObject* const base = tensor_base(Py_TYPE(tensor));
    std::size_t count = 0;
    const cyclewatch_native_member* const members =
        base == nullptr ? nullptr : cyclewatch_native_members_of(base->tp_name, &count);
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t index = cyclewatch_index_of_word(members[i].word);
        const auto* const known = std::ranges::find_if(kTensorHooks, [&](const HookDict& hooks) {
            return hooks.attribute == members[i].name;
        });
        if (known != kTensorHooks.end() &&
            index < static_cast<std::size_t>(base->tp_basicsize) / sizeof(PyObject*) &&
            reinterpret_cast<PyObject**>(tensor)[index] == dict) {
            return known->label;
        }
    }
    return {};
}

bool is_module_class(PyTypeObject* type) noexcept {
    if (!PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE)) {
        return false;
    }
    PyObject* const qualname = reinterpret_cast<PyHeapTypeObject*>(type)->ht_qualname;
    return equals_ascii(qualname, "Module") &&
           equals_ascii(find_in_dict(type->tp_dict, "__module__"), "torch.nn.modules.module");
}

}  // namespace

bool is_torch_module(PyTypeObject* type) noexcept {
    bool found = false;
    visit_bases(type, [&](PyTypeObject* base) {
        found = is_module_class(base);
        return found;
    });
    return found;
}

void find_torch_module_parts(PyObject* module, PartSink& sink) {
    for (const std::string_view name : {"_parameters", "_buffers", "_modules"}) {
        PyObject* children = find_attribute(module, name);
        if (children != nullptr && PyDict_Check(children)) {
            sink.add(children, model::PartRole::nn_children);
        }
    }
    for (const HookDict& known : kHookDicts) {
        PyObject* hooks = find_attribute(module, known.attribute);
        if (hooks != nullptr && PyDict_Check(hooks)) {
            sink.add(hooks, model::PartRole::nn_hooks);
        }
    }
}

bool has_torch_hooks(PyTypeObject* type) noexcept {
    return is_torch_autograd_node(type) || tensor_base(type) != nullptr;
}

void find_torch_hooks(PyObject* object, PartSink& sink) {
    const bool is_node = is_torch_autograd_node(Py_TYPE(object));
    traverse_as(Py_TYPE(object), object, [&](PyObject* referent) {
        if (PyDict_Check(referent) &&
            (is_node || !label_of_tensor_hooks(object, referent).empty())) {
            sink.add(referent, model::PartRole::nn_hooks);
        }
    });
}

void label_hooks(PyObject* hooks, std::string_view label, ReferenceSink& sink) {
    Py_ssize_t position = 0;
    PyObject* key = nullptr;
    PyObject* hook = nullptr;
    while (PyDict_Next(hooks, &position, &key, &hook) != 0) {
        sink.add(hook, model::EdgeKind::hook, label, 0);
    }
}

void label_torch_hooks(PyObject* hooks, PyObject* parent, ReferenceSink& sink) {
    if (is_torch_autograd_node(Py_TYPE(parent))) {
        label_hooks(hooks, "autograd hook", sink);
        return;
    }
    if (const std::string_view label = label_of_tensor_hooks(parent, hooks); !label.empty()) {
        label_hooks(hooks, label, sink);
        return;
    }
    const auto* known = std::ranges::find_if(kHookDicts, [&](const HookDict& dict) {
        return find_attribute(parent, dict.attribute) == hooks;
    });
    if (known == kHookDicts.end()) {
        label_plain_dict(hooks, sink);
        return;
    }
    label_hooks(hooks, known->label, sink);
}

bool is_torch_autograd_node(const PyTypeObject* type) noexcept {
    if (PyType_HasFeature(const_cast<PyTypeObject*>(type), Py_TPFLAGS_HEAPTYPE) ||
        type->tp_getset == nullptr || type->tp_base != &PyBaseObject_Type) {
        return false;
    }
    bool has_next_functions = false;
    bool has_input_metadata = false;
    for (const PyGetSetDef* getter = type->tp_getset; getter->name != nullptr; ++getter) {
        has_next_functions |= std::strcmp(getter->name, "next_functions") == 0;
        has_input_metadata |= std::strcmp(getter->name, "_input_metadata") == 0;
    }
    return has_next_functions && has_input_metadata;
}

}  // namespace cyclewatch::capture
