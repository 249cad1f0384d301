// SPDX-License-Identifier: Apache-2.0
// Assigns a status to each finding, and the first pattern whose shape matches, if any. Not
// thread-safe; the process has one instance, whose callers must hold the GIL.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "advice/pattern.h"
#include "model/finding.h"

namespace cyclewatch::advice {

// Findings that the user ignores. Empty fields match anything.
struct Suppression {
    std::string signature;
    std::string pattern;
    std::string reason;  // never empty
};

// `*` matches any text, including none; `?` matches one character. Takes O(|glob| * |text|) time.
[[nodiscard]] bool glob_matches(std::string_view glob, std::string_view text);

// True if the pattern's steps match consecutive references of the cycle, starting at any reference.
// If the pattern has a `suggests` step, that step must also match a reference in the cut or in the
// alternatives. False for a pattern without a shape.
[[nodiscard]] bool shape_matches(const Pattern& pattern, const model::Finding& finding);

// Returns the version of an installed package; "" if unknown.
using VersionOf = std::function<std::string(const std::string& package)>;

class Rules {
  public:
    // Replaces the patterns and suppressions of the previous configuration.
    void configure(std::vector<Pattern> patterns, std::vector<Suppression> suppressions);

    // Adds a suppression to those of the configuration.
    void ignore(Suppression suppression);

    // The user's patterns, then the built-in ones.
    [[nodiscard]] std::vector<Pattern> patterns() const;

    // Assigns the matching pattern and the status to a finding from the analysis. Idempotent.
    void judge(model::Finding& finding, const VersionOf& version_of) const;

    // Incremented when the configuration or the suppressions change.
    [[nodiscard]] std::uint64_t version() const noexcept { return version_; }

  private:
    [[nodiscard]] const Suppression* suppression_of(const model::Finding& finding) const;

    std::vector<Pattern> user_patterns_;
    std::vector<Suppression> configured_;
    std::vector<Suppression> added_;  // by ignore()
    std::uint64_t version_ = 1;
};

}  // namespace cyclewatch::advice
