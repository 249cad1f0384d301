// SPDX-License-Identifier: Apache-2.0
// A library reference is a reference that a tensor owner holds but the collector cannot see, such
// as the reference from a tensor to its gradient. Only the library that implements the owners can
// list these references.
#pragma once

#include <Python.h>

#include <span>
#include <vector>

#include "collector/hidden_references.h"
#include "device/owner_reader.h"
#include "device/owner_registry.h"
#include "device/torch_layout.h"

namespace cyclewatch::retention {

using device::OwnerReference;

// The library references of all tracked owners and of their autograd graphs; none on free-threaded
// builds. The library may create Python objects for the targets. May throw std::bad_alloc.
// REQUIRES: GIL held. RUNS PYTHON: no user code.
[[nodiscard]] std::vector<OwnerReference> library_references(device::OwnerRegistry& registry);

// The library references of `owners`, excluding references from their autograd graphs.
[[nodiscard]] std::vector<OwnerReference> library_references(device::OwnerRegistry& registry,
                                                             std::span<PyObject* const> owners);

// The references to `target` from tracked owners that use the memory of `target`, such as a tensor
// from torch.from_numpy(). None if `target` does not export memory, or is an array whose memory
// belongs to an owner, as with Tensor.numpy(). Acquires and releases the buffer of `target`.
// REQUIRES and RUNS PYTHON: as for library_references().
[[nodiscard]] std::vector<OwnerReference> memory_references(device::OwnerRegistry& registry,
                                                            PyObject* target);

// The references of the C++ objects of all tracked owners and of their autograd graphs, with the
// counts that make them exact. REQUIRES and RUNS PYTHON: as for library_references(), and a build
// with a GIL.
[[nodiscard]] collector::HiddenReferences hidden_references(device::OwnerRegistry& registry,
                                                            const device::TorchLayout& layout);

}  // namespace cyclewatch::retention
