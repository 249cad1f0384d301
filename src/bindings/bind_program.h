// SPDX-License-Identifier: Apache-2.0
// Running somebody's program in this process, as the interpreter itself would.
#pragma once

#include <pybind11/pybind11.h>

namespace cyclewatch::bindings {

void bind_program(pybind11::module_& module);

}  // namespace cyclewatch::bindings
