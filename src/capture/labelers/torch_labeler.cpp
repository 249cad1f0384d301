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

void label_torch_hooks(PyObject* hooks, PyObject* module, ReferenceSink& sink) {
    const auto* known = std::ranges::find_if(kHookDicts, [&](const HookDict& dict) {
        return find_attribute(module, dict.attribute) == hooks;
    });
    if (known == kHookDicts.end()) {
        label_plain_dict(hooks, sink);
        return;
    }
    Py_ssize_t position = 0;
    PyObject* key = nullptr;
    PyObject* hook = nullptr;
    while (PyDict_Next(hooks, &position, &key, &hook) != 0) {
        sink.add(hook, model::EdgeKind::hook, known->label, 0);
    }
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
