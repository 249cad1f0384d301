// SPDX-License-Identifier: Apache-2.0
// Reader for torch.Tensor, its subclasses, and torch.UntypedStorage.
//
// Calls only C functions of torch, taken from the base classes, so that no __torch_function__,
// __torch_dispatch__ or overridden attribute of a subclass runs.
#pragma once

#include <memory>

#include "device/owner_reader.h"

namespace cyclewatch::device {

// Null if torch is not fully imported. REQUIRES: GIL held. RUNS PYTHON: never.
[[nodiscard]] std::unique_ptr<OwnerReader> make_torch_reader() noexcept;

}  // namespace cyclewatch::device
