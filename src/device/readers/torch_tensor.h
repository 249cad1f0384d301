// SPDX-License-Identifier: Apache-2.0
// torch.Tensor, its subclasses, and torch.UntypedStorage.
//
// Everything is asked of C functions of torch, fetched once from the base classes, so that no
// subclass's __torch_function__, __torch_dispatch__ or attribute is ever run or seen.
#pragma once

#include <memory>

#include "device/owner_reader.h"

namespace cyclewatch::device {

// Null while torch is not imported, or not wholly. REQUIRES: GIL held. RUNS PYTHON: never.
[[nodiscard]] std::unique_ptr<OwnerReader> make_torch_reader() noexcept;

}  // namespace cyclewatch::device
