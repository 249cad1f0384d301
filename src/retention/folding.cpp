// SPDX-License-Identifier: Apache-2.0
#include "retention/folding.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "capture/labelers/labelers.h"
#include "capture/labelers/text.h"
#include "capture/labelers/visit.h"
#include "retention/parts.h"

namespace cyclewatch::retention {
namespace {

using capture::Utf8Text;
using model::EdgeKind;
using model::PartRole;
using model::RootKind;

// If the dict also contains `value` under a name without a leading underscore, replaces `name` with
// that name.
void prefer_public_name(PyObject* dict, PyObject* value, std::string& name) {
    Py_ssize_t position = 0;
    PyObject* key = nullptr;
    PyObject* each = nullptr;
    while (PyDict_Check(dict) && PyDict_Next(dict, &position, &key, &each) != 0) {
        const Utf8Text text(key);
        if (each == value && !text.view().empty() && !text.view().starts_with('_')) {
            name = text.view();
            return;
        }
    }
}

// The name of the context variable whose value is `value`. Contexts store variables in a tree; the
// tp_traverse of its nodes visits each value before the variable.
Label context_variable(PyObject* node, PyObject* value) {
    Label label{EdgeKind::captured_key_value, "?", 0};
    bool is_next = false;
    capture::traverse_as(Py_TYPE(node), node, [&](PyObject* referent) {
        if (is_next && PyContextVar_CheckExact(referent)) {
            label.name = Utf8Text(capture::find_member(referent, "name")).view();
        }
        is_next = referent == value;
    });
    return label;
}

// The field name of an item of a named tuple; "" if there is none.
std::string field_name(PyObject* tuple, std::uint32_t index) {
    for (PyTypeObject* type = Py_TYPE(tuple); type != &PyTuple_Type; type = type->tp_base) {
        PyObject* const names = capture::find_in_dict(type->tp_dict, "_fields");
        if (names != nullptr && PyTuple_CheckExact(names) && index < PyTuple_GET_SIZE(names)) {
            return std::string(Utf8Text(PyTuple_GET_ITEM(names, index)).view());
        }
    }
    return {};
}

// True for a module whose children are its items: `layer['name']`, not `layer.name`.
bool is_dict_of_children(PyObject* module) {
    constexpr std::string_view kContainers = "torch.nn.modules.container";
    return module != nullptr && (capture::has_base(Py_TYPE(module), kContainers, "ModuleDict") ||
                                 capture::has_base(Py_TYPE(module), kContainers, "ParameterDict"));
}

// Reduces a path of objects to the references that a programmer would write.
class Folding {
  public:
    Folding(const HeapGraph& graph, const Root* root, const RawPath& path, Labels& labels)
        : graph_(graph), root_(root), path_(path), labels_(labels) {}

    [[nodiscard]] std::vector<Step> steps() {
        begin();
        const std::size_t last = path_.nodes.size() - 1;
        while (at_ < last) {
            PyObject* const holder = object(at_);
            PyObject* const target = object(at_ + 1);
            Label label = label_of(holder, target);
            if (label.kind == EdgeKind::index && PyTuple_Check(holder)) {
                label.name = field_name(holder, label.index);
                label.kind = label.name.empty() ? EdgeKind::index : EdgeKind::member;
            }
            const auto* const known =
                label.kind == EdgeKind::unknown
                    ? graph_.library_reference(path_.nodes[at_], path_.nodes[at_ + 1])
                    : nullptr;
            if (known != nullptr) {
                label.kind = known->removable ? EdgeKind::attribute : EdgeKind::member;
                label.name = known->attribute;
                is_small_view_ = known->is_small_view;
            }
            if (root_ != nullptr && root_->is_namespace && at_ == 0) {
                name_in_namespace(label, target);
            }
            if (role_ == PartRole::nn_children && label.kind == EdgeKind::attribute &&
                is_dict_of_children(holder_)) {
                label.kind = EdgeKind::key_value;
            }
            if (holder_ != nullptr && is_lru_cache(holder_) && PyDict_CheckExact(holder) &&
                label.kind != EdgeKind::dict_key) {
                label.kind = EdgeKind::member;
                label.name = "cached_result";
            }
            advance(std::move(label), last);
        }
        return std::move(steps_);
    }

  private:
    [[nodiscard]] PyObject* object(std::size_t at) const { return graph_.object(path_.nodes[at]); }

    [[nodiscard]] Label label_of(PyObject* holder, PyObject* target) {
        const collector::HiddenReference* const of_array =
            graph_.hidden_reference(path_.nodes[at_], path_.nodes[at_ + 1]);
        if (of_array != nullptr) {
            return {of_array->kind, of_array->name, of_array->index};
        }
        return is_hamt_node(holder) ? context_variable(holder, target)
                                    : labels_.find(holder, role_, parent_, target);
    }

    void begin() {
        if (root_ == nullptr) {
            parent_ = holder_ = object(0);
            return;
        }
        if (root_->kind == RootKind::context_variable) {
            holder_ = parent_ = object(0);  // named by the variable
            return;
        }
        if (!root_->is_namespace) {
            const std::string name(Utf8Text(root_->owner).view());
            const EdgeKind kind = name.empty() ? EdgeKind::stack : EdgeKind::local;
            emit({kind, name, 0}, 0, path_.nodes.size() - 1);
            return;
        }
        holder_ = root_->owner;
        parent_ = root_->owner;
        role_ = root_->kind == RootKind::class_attribute ? PartRole::type_dict
                : PyDict_Check(object(0)) != 0           ? PartRole::module_dict
                                                         : PartRole::none;
    }

    // If exec() runs code in a dict, the variables of the code are labelled as local variables, not
    // as attributes.
    void name_in_namespace(Label& label, PyObject* value) const {
        if (label.kind == EdgeKind::attribute && label.name.starts_with('_')) {
            prefer_public_name(object(0), value, label.name);
        }
        if (root_->kind == RootKind::local_variable && label.kind == EdgeKind::attribute) {
            label.kind = EdgeKind::local;
        }
    }

    // Moves to the next object. Emits a step unless the next object is a part of the holder.
    void advance(Label label, std::size_t last) {
        const std::size_t target = at_ + 1;
        const PartRole role = target == last || holder_ == nullptr
                                  ? PartRole::none
                                  : role_in(holder_, object(at_), role_, object(target));
        if (role != PartRole::none) {
            at_ = target;
            role_ = role;
            return;
        }
        emit(std::move(label), target, last);
    }

    void emit(Label label, std::size_t target, std::size_t last) {
        // Skip the cell of a variable and the traceback of a frame. A program can remove a
        // reference to a traceback, but not the traceback's reference to the frame.
        const std::size_t traceback = PyTraceBack_Check(object(target)) != 0 ? target : last + 1;
        while (target < last && is_skipped(object(target))) {
            ++target;
        }
        PyObject* const from = holder_;
        const bool in_tuple = target > 0 && PyTuple_Check(object(target - 1)) != 0;
        const std::size_t cut_at = std::min(traceback, target);
        steps_.push_back({from, object(target), std::move(label), role_, cut_at, in_tuple});
        steps_.back().is_small_view = std::exchange(is_small_view_, false);
        at_ = target;
        holder_ = parent_ = object(target);
        role_ = PartRole::none;
    }

    const HeapGraph& graph_;
    const Root* root_;
    const RawPath& path_;
    Labels& labels_;
    std::size_t at_ = 0;
    PyObject* holder_ = nullptr;  // the object that the next reference belongs to
    PyObject* parent_ = nullptr;
    PartRole role_ = PartRole::none;
    bool is_small_view_ = false;  // of the next step
    std::vector<Step> steps_;
};

}  // namespace

std::vector<Step> fold(const HeapGraph& graph,
                       const Root* root,
                       const RawPath& path,
                       Labels& labels) {
    return Folding(graph, root, path, labels).steps();
}

}  // namespace cyclewatch::retention
