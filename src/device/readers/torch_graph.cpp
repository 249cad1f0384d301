// SPDX-License-Identifier: Apache-2.0
#include "device/readers/torch_graph.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "device/readers/plain_attributes.h"

namespace cyclewatch::device {

using python::OwnedRef;
using python::steal;

OwnedRef read(PyObject* getter, PyObject* object) {
    const descrgetfunc get = getter == nullptr ? nullptr : Py_TYPE(getter)->tp_descr_get;
    OwnedRef value =
        steal(get == nullptr ? nullptr
                             : get(getter, object, reinterpret_cast<PyObject*>(Py_TYPE(object))));
    PyErr_Clear();  // a node without this value, or one whose values were freed
    return value;
}

namespace {

bool is_defined_in_python(PyTypeObject* type) {
    return (type->tp_flags & Py_TPFLAGS_HEAPTYPE) != 0;
}

}  // namespace

const NodeGetters& NodeTypes::of(PyTypeObject* type) {
    const auto [known, is_new] = known_.try_emplace(type);
    NodeGetters& getters = known->second;
    for (PyTypeObject* base = is_new ? type : nullptr; base != nullptr; base = base->tp_base) {
        PyObject* const dict = is_defined_in_python(base) ? nullptr : base->tp_dict;
        Py_ssize_t position = 0;
        PyObject* name = nullptr;
        PyObject* getter = nullptr;
        while (dict != nullptr && PyDict_Next(dict, &position, &name, &getter) != 0) {
            const std::string_view text = utf8(name);
            if (Py_TYPE(getter) != &PyGetSetDescr_Type) {
                continue;
            }
            if (text == "next_functions") {
                getters.next = getter;
            } else if (text == "variable") {
                getters.variable = getter;
            } else if (text.starts_with("_raw_saved_")) {
                getters.saved.push_back(getter);
            }
        }
    }
    return getters;
}

OwnedRef TorchGraph::saved_in(PyObject* saved) {
    OwnedRef value = steal(PyObject_GetAttrString(saved, "data"));
    PyErr_Clear();
    return value && PyObject_IS_GC(value.get()) != 0 ? std::move(value) : OwnedRef();
}

std::int64_t TorchGraph::sequence_number(PyObject* node) {
    auto* const type = reinterpret_cast<PyObject*>(Py_TYPE(node));
    const OwnedRef method = steal(PyObject_GetAttrString(type, "_sequence_nr"));
    const bool is_native = method && Py_TYPE(method.get()) == &PyMethodDescr_Type;
    const OwnedRef number = steal(is_native ? PyObject_CallOneArg(method.get(), node) : nullptr);
    const std::int64_t value =
        number && PyLong_Check(number.get()) ? PyLong_AsLongLong(number.get()) : -1;
    PyErr_Clear();
    return value;
}

std::vector<PyObject*> TorchGraph::next_of(PyObject* object) {
    std::vector<PyObject*> found;
    const OwnedRef next = read(types_.of(Py_TYPE(object)).next, object);
    for (Py_ssize_t i = 0; next && PyTuple_Check(next.get()) && i < PyTuple_GET_SIZE(next.get());
         ++i) {
        PyObject* const pair = PyTuple_GET_ITEM(next.get(), i);
        if (PyTuple_Check(pair) && PyTuple_GET_SIZE(pair) == 2 &&
            PyTuple_GET_ITEM(pair, 0) != Py_None) {
            found.push_back(PyTuple_GET_ITEM(pair, 0));
            held_.push_back(python::borrow(found.back()));
        }
    }
    return found;
}

const TorchGraph::Node& TorchGraph::node(PyObject* object) {
    const auto [known, is_new] = nodes_.try_emplace(object);
    Node& node = known->second;
    if (!is_new) {
        return node;
    }
    node.number = nodes_.size() - 1;
    node.next = next_of(object);
    const NodeGetters& getters = types_.of(Py_TYPE(object));
    if (is_defined_in_python(Py_TYPE(object))) {
        node.targets.push_back(object);
    }
    const auto add_target = [&](OwnedRef target) {
        if (target) {
            node.targets.push_back(target.get());
            held_.push_back(std::move(target));
        }
    };
    add_target(read(getters.variable, object));
    for (PyObject* const getter : getters.saved) {
        const OwnedRef saved = read(getter, object);
        if (!saved) {
            continue;
        }
        if (!PyTuple_Check(saved.get())) {
            add_target(saved_in(saved.get()));
            continue;
        }
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(saved.get()); ++i) {
            add_target(saved_in(PyTuple_GET_ITEM(saved.get(), i)));
        }
    }
    return node;
}

void TorchGraph::add(PyObject* holder, OwnedRef grad_fn, std::vector<OwnerReference>& references) {
    if (kept_.contains(holder) && nodes_.contains(grad_fn.get())) {
        return;
    }
    std::vector<PyObject*> pending{grad_fn.get()};
    std::unordered_set<PyObject*> seen{grad_fn.get()};
    std::unordered_set<PyObject*> found{holder};
    held_.push_back(std::move(grad_fn));
    while (!pending.empty() && may_go_on()) {
        ++steps_;
        const Node& each = node(pending.back());
        pending.pop_back();
        for (PyObject* const target : each.targets) {
            if (found.insert(target).second) {
                kept_.insert(target);
                references.push_back({holder, {"grad_fn", false, target}});
            }
        }
        for (PyObject* const next : each.next) {
            if (seen.insert(next).second) {
                pending.push_back(next);
            }
        }
    }
}

std::size_t TorchGraph::add_targets(OwnedRef first,
                                    const GraphTarget& like,
                                    std::vector<GraphTarget>& targets) {
    const std::size_t before = nodes_.size();
    std::vector<PyObject*> pending;
    const auto visit = [&](PyObject* object) {
        if (!nodes_.contains(object)) {
            pending.push_back(object);
        }
    };
    visit(first.get());
    held_.push_back(std::move(first));
    while (!pending.empty() && may_go_on()) {
        PyObject* const object = pending.back();
        pending.pop_back();
        if (nodes_.contains(object)) {
            continue;
        }
        ++steps_;
        const Node& each = node(object);
        targets.push_back({python::borrow(object), like.source, like.is_used});
        for (PyObject* const target : each.targets) {
            targets.push_back({python::borrow(target), like.source, like.is_used});
        }
        std::ranges::for_each(each.next, visit);
    }
    return nodes_.size() - before;
}

std::unordered_set<PyObject*> TorchGraph::nodes_between(std::size_t begin, std::size_t end) {
    std::unordered_set<PyObject*> found;
    for (const auto& [object, each] : nodes_) {
        if (each.number >= begin && each.number < end) {
            found.insert(object);
            found.insert(each.next.begin(), each.next.end());
        }
    }
    std::erase_if(found,
                  [&](PyObject* node) { return types_.of(Py_TYPE(node)).variable != nullptr; });
    return found;
}

bool TorchGraph::leads_to(PyObject* node,
                          const std::unordered_set<PyObject*>& nodes,
                          std::size_t& budget) {
    std::vector<PyObject*> pending{node};
    std::unordered_set<PyObject*> seen{node};
    for (std::size_t i = 0; i < pending.size(); ++i) {  // the nearest first
        PyObject* const object = pending[i];
        if (nodes.contains(object)) {
            return true;
        }
        const auto known = nodes_.find(object);
        if (known == nodes_.end() && budget-- == 0) {
            budget = 0;
            return false;
        }
        for (PyObject* const next : known == nodes_.end() ? next_of(object) : known->second.next) {
            if (seen.insert(next).second) {
                pending.push_back(next);
            }
        }
    }
    return false;
}

}  // namespace cyclewatch::device
