// SPDX-License-Identifier: Apache-2.0
// Queries torch for the bytes that its CUDA allocator has in use. docs/design/devices.md explains
// the choice of the function.
//
// REQUIRES: GIL held.
#pragma once

#include <cstdint>
#include <optional>

namespace cyclewatch::device {

// Bytes that torch has allocated to tensors on cuda:<device>. Returns nullopt if torch is not
// imported, has no CUDA support or has not used the device yet. Does not leave a Python error set
// or a new object alive. RUNS PYTHON: never; calls one C function of torch, which reads counters
// and does not call CUDA.
[[nodiscard]] std::optional<std::uint64_t> torch_allocated_bytes(int device) noexcept;

}  // namespace cyclewatch::device
