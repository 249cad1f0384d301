// SPDX-License-Identifier: Apache-2.0
// A finding and what it is made of: references, owners, sightings.
#pragma once

#include <pybind11/pybind11.h>

namespace cyclewatch::bindings {

void bind_finding(pybind11::module_& module);

}  // namespace cyclewatch::bindings
