// SPDX-License-Identifier: Apache-2.0
// The patterns as Python sees them.
#pragma once

#include <pybind11/pybind11.h>

namespace cyclewatch::bindings {

void bind_catalog(pybind11::module_& module);

}  // namespace cyclewatch::bindings
