// SPDX-License-Identifier: Apache-2.0
// The built-in patterns, embedded from src/advice/patterns.toml. Does not read files or use Python.
// May be used on any thread.
#pragma once

#include <string_view>
#include <vector>

#include "advice/pattern.h"

namespace cyclewatch::advice {

// The contents of patterns.toml; defined in a file that cmake/embed_patterns.py generates.
[[nodiscard]] std::vector<Pattern> built_in_patterns();

class Catalog {
  public:
    // Built on first use; never destroyed.
    [[nodiscard]] static const Catalog& built_in();

    [[nodiscard]] const std::vector<Pattern>& patterns() const { return patterns_; }

    // Returns nullptr if there is no such pattern.
    [[nodiscard]] const Pattern* find(std::string_view id) const;

    // Returns the message texts for `variant` of the pattern `id`. If the pattern has no such
    // variant, returns the pattern's own message texts. If there is no such pattern, returns the
    // message texts of the pattern "unknown".
    [[nodiscard]] const Words& words(std::string_view id, std::string_view variant) const;

  private:
    explicit Catalog(std::vector<Pattern> patterns) : patterns_(std::move(patterns)) {}

    std::vector<Pattern> patterns_;
};

}  // namespace cyclewatch::advice
