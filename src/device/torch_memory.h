// SPDX-License-Identifier: Apache-2.0
// What torch's own allocator says of a device.
#pragma once

#include <cstdint>
#include <optional>

namespace cyclewatch::device {

// Bytes that torch has handed out on `cuda:<device>` and not taken back. Nothing where torch is
// not imported, knows no CUDA or has not used that device yet.
// REQUIRES: GIL held. RUNS PYTHON: never; calls one C function of torch, which looks at counters
// of its allocator and asks CUDA nothing. Leaves no Python error and no object.
[[nodiscard]] std::optional<std::uint64_t> torch_allocated_bytes(int device) noexcept;

}  // namespace cyclewatch::device
