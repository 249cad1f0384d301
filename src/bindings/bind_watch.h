// SPDX-License-Identifier: Apache-2.0
// Watches and owners as Python sees them: start_watch(), NativeWatch, register_owner().
#pragma once

#include <pybind11/pybind11.h>

namespace cyclewatch::bindings {

void bind_watch(pybind11::module_& module);

}  // namespace cyclewatch::bindings
