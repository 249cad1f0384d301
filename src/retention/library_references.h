// SPDX-License-Identifier: Apache-2.0
// References between owners that only their library knows, such as from a tensor to its gradient.
#pragma once

#include <Python.h>

#include <span>
#include <vector>

#include "device/owner_reader.h"
#include "device/owner_registry.h"

namespace cyclewatch::retention {

using device::OwnerReference;

// The references of all tracked owners, including those of their computation graphs; none on
// free-threaded builds. The library may create their targets. May throw std::bad_alloc. REQUIRES:
// GIL held. RUNS PYTHON: no user code.
[[nodiscard]] std::vector<OwnerReference> library_references(device::OwnerRegistry& registry);

// The references of these owners, without those of their graphs.
[[nodiscard]] std::vector<OwnerReference> library_references(device::OwnerRegistry& registry,
                                                             std::span<PyObject* const> owners);

// The references to `target` of the tracked owners that use its memory, such as a tensor from
// torch.from_numpy(). None if `target` exports no memory or if its memory belongs to an owner, such
// as that of an array from Tensor.numpy(). The requirements are those above; acquires and releases
// the buffer of `target`.
[[nodiscard]] std::vector<OwnerReference> memory_references(device::OwnerRegistry& registry,
                                                            PyObject* target);

}  // namespace cyclewatch::retention
