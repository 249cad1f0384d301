// SPDX-License-Identifier: Apache-2.0
// Whether one class creates instances of another, read from the code of its methods.
//
// REQUIRES: GIL held, inside CollectionListener::on_unreachable(). RUNS PYTHON: never. Creates no
// Python object. May throw std::bad_alloc.
#pragma once

#include <Python.h>

namespace cyclewatch::capture {

// True if a method of `creator` calls the class `created`, or a base class of it, with its own
// object as an argument.
[[nodiscard]] bool creates(PyTypeObject* creator, PyTypeObject* created);

}  // namespace cyclewatch::capture
