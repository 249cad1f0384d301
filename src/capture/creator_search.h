// SPDX-License-Identifier: Apache-2.0
// Determines whether one class creates instances of another, from the bytecode of its methods.
//
// REQUIRES: GIL held, inside CollectionListener::on_unreachable(). RUNS PYTHON: never. Creates no
// Python objects. May throw std::bad_alloc.
#pragma once

#include <Python.h>

namespace cyclewatch::capture {

// True if a method of `creator` calls `created` or one of its base classes with `self` as an
// argument.
[[nodiscard]] bool creates(PyTypeObject* creator, PyTypeObject* created);

}  // namespace cyclewatch::capture
