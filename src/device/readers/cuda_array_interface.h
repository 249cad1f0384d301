// SPDX-License-Identifier: Apache-2.0
// Reader for CuPy, Numba, RMM, and other types whose class defines `__cuda_array_interface__`.
//
// In most libraries that attribute runs Python code (in CuPy, that of NumPy). CuPy and Numba arrays
// are therefore read through their fields (docs/design/devices.md). For other types, the attribute
// is read only if it is a C getter.
#pragma once

#include <memory>

#include "device/device_memory.h"
#include "device/owner_reader.h"

namespace cyclewatch::device {

// True if a supported library is imported. Cheap enough for the start of every collection.
// REQUIRES: GIL held. RUNS PYTHON: never.
[[nodiscard]] bool cuda_array_library_imported() noexcept;

// Verifies addresses with `queries`, which must outlive the reader, or with the process-wide
// instance if it is null. Returns null if out of memory. REQUIRES: GIL held. RUNS PYTHON: never.
[[nodiscard]] std::unique_ptr<OwnerReader> make_cuda_array_interface_reader(
    DeviceQueries* queries = nullptr) noexcept;

}  // namespace cyclewatch::device
