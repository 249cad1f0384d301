// SPDX-License-Identifier: Apache-2.0
// Observes the end of the object that owns a storage, for libraries whose storages have no weak
// references of their own.
#pragma once

#include <Python.h>

#include <memory>

#include "device/owner_reader.h"

namespace cyclewatch::device {

// Null if the type does not support weak references. REQUIRES: GIL held. RUNS PYTHON: never. Leaves
// no Python error set. May throw std::bad_alloc.
[[nodiscard]] std::unique_ptr<WeakStorage> weak_object(PyObject* object);

}  // namespace cyclewatch::device
