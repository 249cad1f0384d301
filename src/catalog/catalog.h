// SPDX-License-Identifier: Apache-2.0
// The built-in patterns: src/catalog/patterns.toml, which is part of the program. No files, no
// Python; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "catalog/pattern.h"

namespace cyclewatch::catalog {

class Catalog {
  public:
    // Read when first asked for.
    [[nodiscard]] static const Catalog& built_in();

    [[nodiscard]] const std::vector<Pattern>& patterns() const { return patterns_; }
    [[nodiscard]] std::vector<std::string> ids() const;

    // Null if there is none of that id.
    [[nodiscard]] const Pattern* find(std::string_view id) const;

    // What is said of that variant, or of the pattern if `variant` is "". Those of "unknown" if
    // there is no such pattern: a report says something honest whatever is asked.
    [[nodiscard]] const Words& words(std::string_view id, std::string_view variant) const;

  private:
    explicit Catalog(std::vector<Pattern> patterns) : patterns_(std::move(patterns)) {}

    std::vector<Pattern> patterns_;
};

}  // namespace cyclewatch::catalog
