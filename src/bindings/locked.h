// SPDX-License-Identifier: Apache-2.0
// Functions that touch the state of the module are bound with Locked(), properties by a
// cpp_function that is. The conversion of arguments and results, which may run Python, is outside.
#pragma once

#include <pybind11/pybind11.h>

#include "python/state_lock.h"

namespace cyclewatch::bindings {

using Locked = pybind11::call_guard<python::StateLock>;

}  // namespace cyclewatch::bindings
