// SPDX-License-Identifier: Apache-2.0
// Views of arrays. REQUIRES: GIL held. RUNS PYTHON: never.
#pragma once

#include <Python.h>

#include <cstdint>
#include <optional>
#include <string_view>

namespace cyclewatch::retention {

// The value of the C attribute `nbytes`; nullopt if the object has no such attribute.
[[nodiscard]] std::optional<std::uint64_t> bytes_of_array(PyObject* object);

// True if the array `view` shows at most half of the memory of `base`. False if a size is unknown.
[[nodiscard]] bool is_small_array(PyObject* view, PyObject* base);

// The method that copies a view: ".clone()" of a torch tensor, otherwise ".copy()".
[[nodiscard]] std::string_view copy_call(PyObject* view);

}  // namespace cyclewatch::retention
