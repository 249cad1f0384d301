// SPDX-License-Identifier: Apache-2.0
// One reference of a path after folding.
#pragma once

#include <Python.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "capture/labelers/text.h"
#include "model/edge_label.h"

namespace cyclewatch::retention {

struct Label {
    model::EdgeKind kind = model::EdgeKind::unknown;
    std::string name;
    std::uint32_t index = 0;
};

struct Step {
    PyObject* from = nullptr;  // null: a thread's state. The module or class of a namespace
    PyObject* to = nullptr;
    Label label;
    std::size_t target_at = 0;  // position of `to` in the raw path
    bool in_tuple = false;      // the last raw holder is a tuple
};

// True for the arguments of a call in functools.lru_cache, which cache_clear() removes.
[[nodiscard]] inline bool is_cached_call(const Step& step) {
    return step.label.kind == model::EdgeKind::dict_key && step.from != nullptr &&
           capture::base_named(Py_TYPE(step.from), "functools._lru_cache_wrapper") != nullptr;
}

}  // namespace cyclewatch::retention
