// SPDX-License-Identifier: Apache-2.0
// CuPy, Numba, RMM, and any other type whose class declares `__cuda_array_interface__`.
//
// The protocol's attribute is Python code in most libraries, and runs NumPy's Python code in
// CuPy. So it is asked for only where it is a C getter of an unknown library; CuPy and Numba are
// read by the fields that their arrays consist of. docs/design/devices.md lists them.
#pragma once

#include <memory>

#include "device/device_memory.h"
#include "device/owner_reader.h"

namespace cyclewatch::device {

// True once a library whose arrays this reader knows is imported. Cheap: asked at the start of
// every collection. REQUIRES: GIL held. RUNS PYTHON: never.
[[nodiscard]] bool cuda_array_library_imported() noexcept;

// Null if there is no memory for it. Addresses are verified by `queries`, which must outlive the
// reader; by the process's own where it is null. REQUIRES: GIL held. RUNS PYTHON: never.
[[nodiscard]] std::unique_ptr<OwnerReader> make_cuda_array_interface_reader(
    DeviceQueries* queries = nullptr) noexcept;

}  // namespace cyclewatch::device
