// SPDX-License-Identifier: Apache-2.0
// src/catalog/patterns.toml as JSON, written by cmake/embed_patterns.py when the program is built.
#pragma once

#include <string_view>

namespace cyclewatch::catalog {

extern const std::string_view kBuiltInJson;

}  // namespace cyclewatch::catalog
