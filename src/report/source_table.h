// SPDX-License-Identifier: Apache-2.0
// The source code at the locations of the cuts and alternatives in a report. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "model/finding.h"

namespace cyclewatch::report {

// Maps each source_key() to its source lines and the number of the first line.
// Locations whose source is not available have no entry. For a dataclass field, only the line of
// the field is stored.
using SourceLines = std::map<std::string, std::pair<std::uint32_t, std::vector<std::string>>>;

// The key under which source lines are stored: "path:line" or, for an attribute that generated code
// stores, "path:module.Class.attribute".
[[nodiscard]] std::string source_key(const model::Reference& reference);

class SourceTable {
  public:
    void add(SourceLines lines) { lines_.merge(std::move(lines)); }
    // Sets Reference::source of the cuts and alternatives whose source is known. For the generated
    // code of a dataclass, replaces the location of the class with the location of the field, also
    // in Finding::cycle.
    void fill(model::Finding& finding) const;

  private:
    SourceLines lines_;
};

}  // namespace cyclewatch::report
