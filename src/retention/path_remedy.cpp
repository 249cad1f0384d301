// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "base/text.h"
#include "capture/labelers/text.h"
#include "retention/path_names.h"

namespace cyclewatch::retention {
namespace {

using model::EdgeKind;

bool is_cached_result(const Step& step) {
    return is_cached_call(step) ||
           (step.label.kind == EdgeKind::member && step.label.name == "cached_result");
}

// " (train.py:12)"; "" if the line is not known.
std::string line_of(const model::Reference& reference) {
    const std::string& location = reference.location;
    return location.find(':') == std::string::npos
               ? ""
               : " (" + location.substr(location.find_last_of("/\\") + 1) + ")";
}

}  // namespace

std::string PathText::remedy_for(std::size_t at) const {
    const Step& step = steps_[at];
    const model::Reference reference = references()[at];
    const std::string holder = at == 0 && is_step_in_root() ? "" : holder_of(at);
    std::string text;
    if (is_cached_result(step)) {
        return "call `cache_clear()` on the cached function" + line_of(reference);
    }
    switch (step.label.kind) {
        case EdgeKind::hook:
            return "keep the handle that the registration of the " + step.label.name +
                   " returns, and call `handle.remove()`";
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
