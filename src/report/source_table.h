// SPDX-License-Identifier: Apache-2.0
// The source code at the locations of a report's suggestions. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "model/finding.h"

namespace cyclewatch::report {

// Maps each source_key() to its source lines and the number of the first line.
// Locations whose source is not available are missing. For a dataclass field, only the line of the
// field is stored.
using SourceLines = std::map<std::string, std::pair<std::uint32_t, std::vector<std::string>>>;

// The location whose source is read: "path:line" or, for an attribute that generated code stores,
// "path:module.Class.attribute".
[[nodiscard]] std::string source_key(const model::Reference& reference);

class SourceTable {
  public:
    void add(SourceLines lines) { lines_.merge(std::move(lines)); }
    // Sets Reference::source of the cuts and alternatives whose source is known. Replaces the
    // location of a class with that of its field, also in the cycle.
    void fill(model::Finding& finding) const;

  private:
    SourceLines lines_;
};

}  // namespace cyclewatch::report
