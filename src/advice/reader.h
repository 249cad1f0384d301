// SPDX-License-Identifier: Apache-2.0
// Reads patterns and suppressions from JSON. Python's tomllib converts the TOML files to JSON. The
// built-in patterns are converted at build time, the user's configuration at run time.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "advice/pattern.h"

namespace cyclewatch::advice {

// Findings that the user ignores. Empty fields match anything.
struct Suppression {
    std::string signature;
    std::string pattern;
    std::string reason;  // never empty
};

// Returns a description of the problem with `suppression`, or "" if it is valid. `ids`: the ids of
// all patterns.
[[nodiscard]] std::string problem_of(const Suppression& suppression,
                                     const std::vector<std::string>& ids);

struct Contents {
    std::vector<Pattern> patterns;
    std::vector<Suppression> suppressions;
    std::vector<std::string> problems;  // one sentence per invalid entry, which is skipped
};

// `json` must be an object with the optional lists "pattern" and "ignore". `known` points to the
// ids of the built-in patterns if `json` is a user's configuration; otherwise, it is nullptr. A
// user's patterns must have a shape and an id that is not in `known`. Suppressions may refer to
// both built-in and user patterns.
[[nodiscard]] Contents read(std::string_view json, const std::vector<std::string>* known);

}  // namespace cyclewatch::advice
