// SPDX-License-Identifier: Apache-2.0
#include "capture/running_code.h"

#include <algorithm>

#include "compat/frame_access.h"

namespace cyclewatch::capture {
namespace {

struct Search {
    std::span<PyObject* const> modules;
    RunningCode found;

    static void visit(const cyclewatch_thread_reference* reference, void* arg) noexcept {
        auto& search = *static_cast<Search*>(arg);
        RunningCode& found = search.found;
        PyCodeObject* const code = reference->code;
        if (reference->slot == CYCLEWATCH_THREAD_NAMESPACE && code != nullptr &&
            (code->co_flags & CO_NEWLOCALS) == 0 && found.count < RunningCode::kMost &&
            std::ranges::find(search.modules, reference->globals) != search.modules.end() &&
            std::find(found.begin(), found.end(), code) == found.end()) {
            found.code[found.count++] = code;
        }
    }
};

}  // namespace

RunningCode running_module_code(std::span<PyObject* const> modules) noexcept {
    Search search{modules, {}};
    cyclewatch_visit_threads(Search::visit, &search);
    return search.found;
}

}  // namespace cyclewatch::capture
