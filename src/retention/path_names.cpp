// SPDX-License-Identifier: Apache-2.0
#include "retention/path_names.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "base/source_path.h"
#include "base/text.h"
#include "capture/attribute_sites.h"
#include "capture/labelers/labelers.h"
#include "capture/labelers/text.h"
#include "capture/object_summary.h"
#include "device/readers/plain_attributes.h"
#include "retention/path_words.h"

namespace cyclewatch::retention {
namespace {

using capture::Utf8Text;
using model::EdgeKind;
using model::RootKind;

constexpr std::string_view kArrow = " -> ";

// The number of steps that a long path shows at its beginning and its end. The steps in between are
// omitted.
constexpr std::size_t kFirstSteps = 20;
constexpr std::size_t kLastSteps = 10;

// One cache per process. Requires the GIL.
capture::AttributeSites& known_sites() {
    static auto& sites = *new capture::AttributeSites;  // never destroyed: used until exit
    return sites;
}

std::string module_name(PyObject* globals) {
    return std::string(Utf8Text(capture::find_in_dict(globals, "__name__")).view());
}

// True if the module's C code holds other objects only through containers and callables, such as
// deque and partial. The containers and callables are on the path, so the C code is not the root.
bool is_of_containers(std::string_view module) {
    constexpr std::array<std::string_view, 3> kModules{"collections", "functools", "itertools"};
    return std::ranges::find(kModules, module) != kModules.end();
}

// The namespace of the code that the path starts from; null if unknown.
PyObject* globals_of(const Root* root) {
    if (root == nullptr || root->globals != nullptr) {
        return root == nullptr ? nullptr : root->globals;
    }
    return root->owner != nullptr && PyModule_Check(root->owner) ? PyModule_GetDict(root->owner)
                                                                 : nullptr;
}

// True for an attribute of an instance of a class that is not written in C.
bool is_instance_attribute(const Step& step) {
    return step.from != nullptr &&
           (step.label.kind == EdgeKind::attribute || step.label.kind == EdgeKind::slot) &&
           PyType_HasFeature(Py_TYPE(step.from), Py_TPFLAGS_HEAPTYPE) && !PyType_Check(step.from);
}

// The line in the holder's class that stores the attribute. REQUIRES: is_instance_attribute(step).
const capture::StoreSite& store_in_class(const Step& step) {
    return known_sites().find(Py_TYPE(step.from), step.label.name, Py_TYPE(step.to), false);
}

// The line outside the holder's class that stores the attribute. Has no line if store_in_class()
// has one.
capture::StoreSite store_outside(const Step& step, const Root* root) {
    if (const capture::StoreSite& site = store_in_class(step); site.is_known()) {
        return {};
    }
    PyObject* const globals = globals_of(root);
    return known_sites().find_outside(
        Py_TYPE(step.from), step.label.name, step.to, {&globals, globals == nullptr ? 0U : 1U});
}

std::string location_of(const Step& step, const Root* root) {
    if (step.from == nullptr) {
        return {};
    }
    if (is_instance_attribute(step)) {
        const capture::StoreSite site = store_in_class(step);
        const capture::StoreSite found = site.line != 0 ? site : store_outside(step, root);
        return found.line != 0 ? place(found.path, found.line) : "";
    }
    const capture::ObjectSummary summary = capture::summarize(step.from);
    return place(summary.path, summary.line);
}

}  // namespace

std::string full_name(PyObject* object) {
    const capture::ObjectSummary summary = capture::summarize(object);
    const std::string name = summary.name.empty() ? "?" : summary.name;
    return base::clean_text(std::string(kind_prefix(summary.kind)) + name);
}

bool is_part_of_optimizer(const Step& step) {
    const bool is_part = step.label.name == "state" || step.label.name == "param_groups";
    return is_part && is_attribute(step) && step.from != nullptr &&
           capture::has_base(Py_TYPE(step.from), "torch.optim.optimizer", "Optimizer");
}

PathText::PathText(const HeapGraph& graph,
                   const Roots& roots,
                   const Root* root,
                   const RawPath& path,
                   const std::vector<Step>& steps,
                   bool is_small_view)
    : graph_(graph),
      roots_(roots),
      root_(root),
      path_(path),
      steps_(steps),
      is_small_view_(is_small_view) {}

bool PathText::is_step_in_root() const {
    if (root_ == nullptr || steps_.empty()) {
        return false;
    }
    return !root_->is_namespace || !first_variable().empty();
}

// The name of the first variable. The text of the path continues with this name after the root.
std::string PathText::first_variable() const {
    const Label& label = steps_.front().label;
    switch (label.kind) {
        case EdgeKind::attribute:
        case EdgeKind::local:
        case EdgeKind::key_value:
        case EdgeKind::captured_key_value:
            return label.name;
        default:
            return {};
    }
}

std::string PathText::holder_of_first() const {
    if (root_->code == nullptr) {
        return (root_->kind == RootKind::module_global ? "module " : "") + root_name();
    }
    return "function " + capture::summarize_code_of(root_->code, module_name(root_->globals)).name;
}

std::string PathText::root_name() const {
    switch (root_->kind) {
        case RootKind::local_variable: {
            if (root_->code == nullptr) {
                return "running function";
            }
            const Utf8Text name(root_->code->co_qualname);
            return call_text(without_enclosing(name.view()));
        }
        case RootKind::module_global:
        case RootKind::class_attribute:
            return root_->owner == nullptr ? module_name(root_->globals)
                                           : capture::summarize(root_->owner).name;
        case RootKind::context_variable:
            return "current context";
        case RootKind::thread_local_data:
            return "thread state";
        case RootKind::exception:
            return "handled exception";
        case RootKind::interpreter:
            return root_->is_fixture            ? "fixture"
                   : root_->registry != nullptr ? root_->registry
                   : root_->mode != nullptr     ? std::string("active ") + root_->mode
                   : root_->signal > 0 ? "handler of signal " + std::to_string(root_->signal)
                                       : "trace or profile function";
        case RootKind::c_code:
            break;
    }
    return {};
}

// The actual holder of the first reference is unknown, so this function names the extension module
// that defines the type of the first object. If this object is a container, the module of the next
// object is named instead. Later objects provide no information about the holder.
std::string PathText::c_code() const {
    for (const std::uint32_t node : path_.nodes) {
        PyObject* const object = graph_.object(node);
        PyTypeObject* type = Py_TYPE(object);
        while (type != nullptr && PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE)) {
            type = type->tp_base;
        }
        const std::string module = type == nullptr ? "" : capture::name_of_type(type).module;
        if (!module.empty() && !is_of_containers(module)) {
            return "C code of " + module.substr(0, module.find('.'));
        }
        if (module.empty() && !PyTuple_Check(object) && !PyList_Check(object) &&
            !PyDict_Check(object)) {
            break;
        }
    }
    return "C code";
}

std::string PathText::thread_name() const {
    if (root_ == nullptr || root_->thread == 0) {
        return {};
    }
    const std::string name = base::clean_text(
        Utf8Text(device::instance_attribute(thread_object(root_->thread), "_name")).view());
    return name.empty() ? std::to_string(root_->thread) : name;
}

model::PathRoot PathText::root() const {
    model::PathRoot result;
    if (root_ == nullptr) {
        result.text = c_code();
        return result;
    }
    result.kind = root_->kind;
    std::string text = root_name();
    if (is_step_in_root()) {
        const std::string variable = first_variable();
        if (root_->kind == RootKind::context_variable) {
            text = "context variable " + variable;
        } else if (root_->is_namespace && root_->kind != RootKind::local_variable) {
            text = std::string(model::word_of(root_->kind)) + " " + text + attribute_text(variable);
        } else if (!variable.empty()) {
            text += (root_->is_fixture ? " " : " local ") + variable;
        } else if (root_->is_temporary) {
            text += " temporary value";
        } else if (root_->kind == RootKind::exception) {
            text += " " + std::string(base::last_part(full_name(steps_.front().to)));
        }
    } else if (root_->kind == RootKind::module_global) {
        text = "module " + text;
    }
    if (const std::string thread = thread_name(); !thread.empty()) {
        text = "thread " + thread + ": " + text;
    }
    if (root_->code != nullptr) {
        result.location = place(capture::path_of(root_->code),
                                static_cast<std::uint32_t>(std::max(root_->line, 0)));
    }
    result.is_unread = root_->is_unread();
    result.is_read_again = root_->variable >= 0 && !result.is_unread;
    result.text = base::clean_text(text);
    return result;
}

std::vector<model::Reference> PathText::references() const {
    std::vector<model::Reference> references;
    references.reserve(steps_.size());
    for (std::size_t i = 0; i < steps_.size(); ++i) {
        const Step& step = steps_[i];
        const bool is_root = i == 0 && root_ != nullptr;
        model::Reference& reference = references.emplace_back();
        const bool is_of_thread =
            step.from == nullptr || root_ == nullptr || root_->kind == RootKind::context_variable;
        reference.holder = is_root && is_of_thread ? holder_of_first()
                           : is_root && root_->code != nullptr && root_->is_namespace
                               ? holder_of_first()
                               : full_name(step.from);
        reference.label =
            base::clean_text(model::label_text(step.label.kind, step.label.name, step.label.index));
        reference.target = full_name(step.to);
        reference.location =
            is_root && root_->code != nullptr ? root().location : location_of(step, root_);
    }
    return references;
}

std::string PathText::folded() const {
    std::vector<std::string> holders;
    return folded(holders);
}

bool PathText::is_stored_outside(std::size_t at) const {
    return is_instance_attribute(steps_[at]) && store_outside(steps_[at], root_).line != 0;
}

bool PathText::is_private_to_library(std::size_t at) const {
    const Step& step = steps_[at];
    if (!is_instance_attribute(step) || !step.label.name.starts_with('_') ||
        step.role == model::PartRole::nn_children || is_stored_outside(at)) {
        return false;
    }
    const std::string path = capture::summarize(step.from).path;
    return !path.empty() && base::origin_of_path(path) != base::Origin::user;
}

std::string PathText::suffix_at(std::size_t at) const {
    return base::clean_text(suffix_of(steps_[at].label));
}

// A path does not show the references from a traceback to the next one and to its frame.
std::string PathText::frame_of_traceback(std::size_t at) const {
    if (at == 0 || !is_traceback(steps_[at - 1]) || PyFrame_Check(steps_[at].from) == 0) {
        return {};
    }
    std::string text;
    std::size_t node = steps_[at - 1].cut_at + 1;
    for (; PyTraceBack_Check(graph_.object(path_.nodes[node])) != 0; ++node) {
        text += ".tb_next";
    }
    return text + ".tb_frame";
}

std::string PathText::holder_of(std::size_t at) const {
    std::vector<std::string> holders;
    const std::string text = folded(holders);
    return at < holders.size() ? base::clean_text(holders[at]) : std::string();
}

// `holders`: set to the text of each step's holder; "" for a step that is not shown.
std::string PathText::folded(std::vector<std::string>& holders) const {
    holders.assign(steps_.size(), "");
    std::string text = root().text;
    std::string variable;  // of the expression that a suffix would continue
    bool is_expression = false;
    std::size_t start = 0;  // of the expression
    std::size_t first = 0;
    if (is_step_in_root()) {
        variable = first_variable();
        if (root_->kind == RootKind::class_attribute) {
            variable = std::string(base::last_part(root_name())) + attribute_text(variable);
        } else if (root_->registry != nullptr) {
            variable = root_->registry_variable;
        } else if (variable.empty()) {
            variable = std::string(base::last_part(capture::summarize(steps_.front().to).name));
        }
        first = 1;
    } else if (!steps_.empty() && steps_.front().from != nullptr) {
        variable = std::string(base::last_part(capture::summarize(steps_.front().from).name));
    }
    for (std::size_t i = first; i < steps_.size(); ++i) {
        if (i == first + kFirstSteps && steps_.size() > i + kLastSteps) {
            i = steps_.size() - kLastSteps;
            text += std::string(kArrow) + "...";
            variable = std::string(base::last_part(capture::summarize(steps_[i].from).name));
            is_expression = false;
        }
        holders[i] = is_expression ? text.substr(start) : variable;
        const std::string suffix = suffix_of(steps_[i].label);
        if (!suffix.empty()) {
            const std::string frame = frame_of_traceback(i);
            if (!is_expression) {
                text.append(kArrow).append(variable);
                start = text.size() - variable.size();
            }
            text += frame + suffix;
            is_expression = true;
            continue;
        }
        auto [words, name] = words_of(steps_[i]);
        text += std::string(kArrow) + words;
        variable = std::move(name);
        // "train() local model.layers": the text ends with the name of the variable.
        is_expression = text.ends_with(variable);
        start = text.size() - variable.size();
    }
    return base::clean_text(text);
}

}  // namespace cyclewatch::retention
