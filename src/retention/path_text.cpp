// SPDX-License-Identifier: Apache-2.0
#include "retention/path_text.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "capture/labelers/labelers.h"
#include "retention/captured_step.h"
#include "retention/cut_choice.h"
#include "retention/folding.h"
#include "retention/path_names.h"
#include "retention/single_action.h"

namespace cyclewatch::retention {
namespace {

using model::RootKind;

bool uses_library(const HeapGraph& graph, const RawPath& path) {
    for (std::size_t i = 1; i < path.nodes.size(); ++i) {
        if (graph.library_reference(path.nodes[i - 1], path.nodes[i]) != nullptr) {
            return true;
        }
    }
    return false;
}

void set_cut(model::RetentionPath& path, std::size_t at, bool frees, bool uses_library) {
    path.cut = path.references[at];
    path.cut_frees = frees;
    path.cut->reason = frees          ? "every path to the object contains this reference"
                       : uses_library ? "C++ code may also refer to the object"
                                      : "the object also has other holders";
}

void use_complete_remedy(model::RetentionPath& path) {
    path.cut_frees = true;
    path.cut->reason = "the remedy removes all paths to the object";
}

// True if the last reference is an item of the dict of buffers of a torch module.
bool ends_in_buffer(const HeapGraph& graph, const RawPath& path, const std::vector<Step>& steps) {
    return !steps.empty() && steps.back().role == model::PartRole::nn_children &&
           steps.back().from != nullptr && path.nodes.size() > 1 &&
           capture::find_attribute(steps.back().from, "_buffers") ==
               graph.object(path.nodes[path.nodes.size() - 2]);
}

// True for what a program gives to C code in order to be called later: a callable, or its
// arguments.
bool is_callback(PyObject* object) {
    return PyCallable_Check(object) != 0 || PyTuple_CheckExact(object);
}

// If only C code holds the callback with which the path begins, the program cannot reach what the
// callback refers to, but may reach what it has given the callback to.
void release_callback(model::RetentionPath& path, bool frees) {
    const std::string& callback = path.references.front().holder;
    const std::string user = path.references.front().target;
    path.cut.reset();
    path.cut_frees = frees;
    path.remedy = "close what has been given the " + callback +
                  ", or unregister it there; or give it something that does not refer to the " +
                  user + ", such as a function with a weak reference";
    path.remedy_kind = model::RemedyKind::removal;
    path.group_remedy = *path.remedy;
}

// Replaces a remedy that leaves another path, and adds to one that changes an object of a thread.
void use_single_action(model::RetentionPath& path, const std::string& action) {
    if (action.empty()) {
        return;
    }
    if (path.cut_frees && path.root.kind == RootKind::local_variable) {
        const bool is_of_object = path.cut->label.starts_with('.');
        path.remedy = is_of_object ? path.remedy.value_or("") + ", or " + action : path.remedy;
        return;
    }
    path.remedy = action;
    path.remedy_kind = model::RemedyKind::release;
    if (path.cut && !path.cut_frees) {
        use_complete_remedy(path);
    }
}

}  // namespace

model::RetentionPath describe(const HeapGraph& graph,
                              const Roots& roots,
                              const RawPath& path,
                              Labels& labels,
                              bool is_small_view) {
    const Root* const root = path.root == kAnonymous ? nullptr : &roots.all()[path.root];
    const std::vector<Step> steps = fold(graph, root, path, labels);
    const PathText text(graph, roots, root, path, steps, is_small_view);
    model::RetentionPath result;
    result.root = text.root();
    result.references = text.references();
    result.text = text.folded();
    result.is_buffer = ends_in_buffer(graph, path, steps);
    const bool is_user_root = root != nullptr && root->is_user_code;
    const std::optional<std::size_t> captured = captured_step(steps, root);
    const auto choose = [&](const CutLimits& limits) {
        return choose_cut(steps, text, path, result.references, limits, is_user_root);
    };
    const CutChoice cut = choose({captured});
    if (cut.rank != CutRank::never) {
        set_cut(result, cut.step, cut.frees, uses_library(graph, path));
        result.cut->holder_path = text.holder_of(cut.step);
        result.filled = text.filled();
        if (Remedy remedy = text.remedy_for(cut.step, Number::one); !remedy.text.empty()) {
            result.remedy = std::move(remedy.text);
            result.remedy_kind = remedy.kind;
            result.group_remedy = text.remedy_for(cut.step, Number::several).text;
        }
    }
    const bool is_hook = cut.rank == CutRank::hook && !cut.frees;
    const bool is_end = cut.rank == CutRank::known_end && !cut.frees && cut.step > 0;
    if ((is_hook && hooks_hold_all(graph, roots, path)) ||
        (is_end && owner_holds_all(graph, roots, path, steps[cut.step - 1].from))) {
        use_complete_remedy(result);
    }
    if (root == nullptr && !steps.empty() && steps.front().from != nullptr &&
        is_callback(steps.front().from) && !uses_library(graph, path)) {
        release_callback(result, path.frees.front());
    }
    if (cut.rank == CutRank::never) {
        const std::string removal = text.removal_of_callback();
        std::string end = removal.empty() && captured ? text.end_of_thread({}) : removal;
        if (!end.empty()) {
            set_cut(result, 0, path.frees[steps.front().cut_at], uses_library(graph, path));
            result.remedy = std::move(end);
        }
    }
    const auto after_cut = steps.begin() + static_cast<std::ptrdiff_t>(cut.step) + 1;
    if (std::any_of(std::min(after_cut, steps.end()), steps.end(), &is_item)) {
        const CutChoice item = choose({.captured = std::nullopt, .keeps_parts = false});
        const bool is_after = item.step > cut.step && is_item(steps[item.step]);
        result.growth_remedy = is_after ? text.remedy_for(item.step, Number::several).text : "";
    }
    if (cut.frees && path.frees.front() && result.root.is_unread && is_own_attribute(cut, steps)) {
        result.remedy = result.remedy.value_or("") + ", or delete the variable `" +
                        base::clean_text(steps.front().label.name) +
                        "`, which its function does not read again";
    }
    use_single_action(
        result,
        single_action(
            graph, roots, path, text.end_of_thread(settable_variables(graph, roots, path))));
    if (captured && cut.step == 0 && !result.cut_frees && is_root_of_worker(root)) {
        result.remedy = text.end_of_thread({});  // the variable is not the only one
    }
    if (captured && cut.step <= *captured && !is_item(steps[cut.step])) {
        result.group_remedy.clear();  // all objects are released together
    }
    return result;
}

namespace {

// Removes a call at the end, whose result cannot be assigned: ".grad" for ".grad.indices()".
std::string_view without_call(std::string_view label) {
    return label.ends_with("()") ? label.substr(0, label.rfind('.')) : label;
}

}  // namespace

void append(model::RetentionPath& path,
            std::string_view label,
            std::string_view target,
            bool frees) {
    model::Reference reference;
    reference.holder = path.references.empty() ? path.root.text : path.references.back().target;
    reference.label = label;
    reference.target = target;
    path.references.push_back(std::move(reference));
    if (path.text.find(" -> ") == std::string::npos) {
        const std::size_t name = path.text.find_last_of(" .") + 1;
        path.text += " -> " + path.text.substr(name);
    }
    path.text += label;
    const std::string_view settable = without_call(label);
    if (settable.empty()) {
        path.cut_frees = path.cut_frees && frees;
        return;
    }
    set_cut(path, path.references.size() - 1, frees, true);
    const std::string text = path.text.substr(path.text.rfind(" -> ") + 4);
    const std::string attribute =
        "`" + text.substr(0, text.size() - (label.size() - settable.size())) + "`";
    const bool is_gradient = settable == ".grad";
    path.remedy = is_gradient ? "call `zero_grad()` of the optimizer once it has used " +
                                    attribute + ", or set " + attribute + " to None"
                              : "set " + attribute + " to None once it is no longer used";
    path.remedy_kind = is_gradient ? model::RemedyKind::release : model::RemedyKind::removal;
    path.group_remedy.clear();
}

}  // namespace cyclewatch::retention
