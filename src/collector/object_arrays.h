// SPDX-License-Identifier: Apache-2.0
// References that NumPy arrays store where the collector does not see them: the elements of an
// array of objects, and the object whose memory an array uses. numpy.ndarray has no tp_traverse.
//
// REQUIRES (everything here): GIL held, outside a collection. Leaves no Python error.
#pragma once

#include <Python.h>

#include <span>
#include <string>

#include "collector/hidden_references.h"

namespace cyclewatch::collector {

// Verifies where arrays store these references, once per process
// (cyclewatch/proofs/numpy_layout.py). Does nothing if NumPy is not imported, and on free-threaded
// builds. RUNS PYTHON: only that module.
void verify_arrays() noexcept;

// A sentence that says why arrays are not followed; "" if the verification succeeded or has not
// been made.
[[nodiscard]] const std::string& array_failure() noexcept;

// Adds these references to `hidden`, from all arrays to which `objects`, the tracked objects, or
// the variables of running functions refer directly or through untracked containers and other
// arrays. Adds the arrays and containers to `hidden.untracked`, and sorts `hidden`. Omits
// references that cannot be part of a cycle, such as those to strings. Reads at most 10 million
// elements and adds at most a million references. Does nothing before a successful verify_arrays().
// May throw std::bad_alloc. RUNS PYTHON: never; only C getters of numpy.dtype, whose results are
// freed again.
void add_array_references(std::span<PyObject* const> objects, HiddenReferences& hidden);

// True for a numpy.ndarray, if verify_arrays() succeeded.
[[nodiscard]] bool is_array(PyObject* object) noexcept;

}  // namespace cyclewatch::collector
