// SPDX-License-Identifier: Apache-2.0
// The built-in readers, one per family of libraries.
//
// REQUIRES (everything here): GIL held. RUNS PYTHON: never.
#pragma once

#include <memory>

#include "device/device_memory.h"
#include "device/owner_reader.h"

namespace cyclewatch::device {

// torch_tensor.cpp: torch.Tensor, its subclasses, and torch.UntypedStorage. Null if torch is not
// fully imported.
//
// Calls only C functions of torch's base classes, so that no Python code of a subclass runs
// (__torch_function__, __torch_dispatch__, overridden attributes).
[[nodiscard]] std::unique_ptr<OwnerReader> make_torch_reader() noexcept;

// True if a library that cuda_array_interface.cpp supports is imported. Cheap enough for the start
// of every collection.
[[nodiscard]] bool cuda_array_library_imported() noexcept;

// cuda_array_interface.cpp: Reads objects of CuPy, Numba and RMM, and of other classes that define
// `__cuda_array_interface__`. Verifies addresses with `queries`, which must outlive the reader, or
// with the process-wide instance if `queries` is null. Returns null if out of memory.
//
// In most libraries, reading `__cuda_array_interface__` runs Python code (in CuPy, NumPy's Python
// code). CuPy and Numba arrays are therefore read through their fields (docs/design/devices.md).
// For other types, the attribute is read only if it is a C getter.
[[nodiscard]] std::unique_ptr<OwnerReader> make_cuda_array_interface_reader(
    DeviceQueries* queries = nullptr) noexcept;

// jax_array.cpp: jax.Array (jaxlib's ArrayImpl), with one part for each further shard. Returns null
// if out of memory.
//
// Calls only C++ functions of jaxlib, none of which waits for a computation. Deleted and donated
// arrays own nothing.
[[nodiscard]] std::unique_ptr<OwnerReader> make_jax_reader() noexcept;

}  // namespace cyclewatch::device
