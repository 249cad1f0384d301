// SPDX-License-Identifier: Apache-2.0
// Which version of a library runs here.
#pragma once

#include <string>

namespace cyclewatch::watch {

// `__version__` of the module of that name, "" if it is not imported or does not say. A library
// whose code stands in a cycle has been imported; nothing is imported to find out.
// REQUIRES: GIL held. RUNS PYTHON: never.
[[nodiscard]] std::string loaded_version(const std::string& package);

}  // namespace cyclewatch::watch
