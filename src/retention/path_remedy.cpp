// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <string>

#include "base/text.h"
#include "capture/labelers/text.h"
#include "retention/path_names.h"

namespace cyclewatch::retention {
namespace {

using model::EdgeKind;

// " (train.py:12)"; "" if the line is not known.
std::string line_of(const model::Reference& reference) {
    const std::string& location = reference.location;
    return location.find(':') == std::string::npos
               ? ""
               : " (" + location.substr(location.find_last_of("/\\") + 1) + ")";
}

// The call that copies a view, if the step leads from the view to the owner of its memory.
std::string copy_of_view(const Step& step) {
    if (step.label.kind == EdgeKind::member && step.label.name == "_base") {
        return ".clone()";
    }
    const bool is_array = step.from != nullptr && PyObject_IS_GC(step.from) == 0;
    return is_array && step.label.name == "base" ? ".copy()" : "";
}

// True for a part of what a function uses, as opposed to one of many items that it collects.
bool is_part_of_function(const Step& step) {
    return step.label.kind == EdgeKind::closure || step.label.kind == EdgeKind::key_value ||
           step.label.kind == EdgeKind::attribute || step.label.kind == EdgeKind::slot;
}

std::string remedy_of_hook(const Step& hook) {
    return "keep the handle that the registration of the " + hook.label.name +
           " returns, and call `handle.remove()`";
}

}  // namespace

std::string PathText::remedy_for(std::size_t at) const {
    const std::string removal = removal_of(at);
    const std::string copy = at + 1 < steps_.size() ? copy_of_view(steps_[at + 1]) : "";
    const std::string holder = holder_of(at);
    return removal.empty() || copy.empty() || holder.empty()
               ? removal
               : "store `" + copy + "` of the view as `" + holder + suffix_at(at) + "`, or " +
                     removal;
}

std::string PathText::removal_of(std::size_t at) const {
    const Step& step = steps_[at];
    const model::Reference reference = references()[at];
    const std::string holder = at == 0 && is_step_in_root() ? "" : holder_of(at);
    std::string text;
    const auto end = steps_.begin() + static_cast<std::ptrdiff_t>(at);
    if (std::any_of(end, steps_.end(), is_of_cached_call)) {
        return "call `cache_clear()` on the cached function" + line_of(reference);
    }
    const auto is_hook = [](const Step& each) { return each.label.kind == EdgeKind::hook; };
    const auto hook = std::find_if(steps_.begin(), end, is_hook);
    if (hook != end && is_part_of_function(step)) {
        return remedy_of_hook(*hook);
    }
    switch (step.label.kind) {
        case EdgeKind::hook:
            return remedy_of_hook(step);
        case EdgeKind::local:
            return "delete the variable `" + step.label.name + "` of " +
                   base::clean_text(root_name()) + line_of(reference);
        case EdgeKind::closure:
            return "do not capture `" + step.label.name + "`" + line_of(reference);
        case EdgeKind::attribute:
        case EdgeKind::slot:
            text = "delete `" + (holder.empty() ? step.label.name : holder + suffix_at(at)) +
                   "` or set it to None";
            return text + line_of(reference);
        case EdgeKind::key_value:
        case EdgeKind::captured_key_value:
        case EdgeKind::index:
            return holder.empty() ? ""
                                  : "remove `" + holder + suffix_at(at) + "`" + line_of(reference);
        case EdgeKind::dict_key:
        case EdgeKind::element:
        case EdgeKind::opaque_key_value:
            return holder.empty() ? "" : "remove it from `" + holder + "`" + line_of(reference);
        default:
            return {};
    }
}

}  // namespace cyclewatch::retention
