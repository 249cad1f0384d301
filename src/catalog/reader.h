// SPDX-License-Identifier: Apache-2.0
// From TOML to patterns and suppressions, by way of JSON: Python's own tomllib reads the file,
// at build time the built-in one and at run time a user's, and this reads what comes of it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "catalog/pattern.h"

namespace cyclewatch::catalog {

// What the user has looked at and does not want to be told again. Empty fields match anything.
struct Suppression {
    std::string signature;
    std::string pattern;
    std::string reason;  // never empty
};

// What is wrong with it, where `ids` are the patterns there are; "" if nothing is.
[[nodiscard]] std::string problem_of(const Suppression& suppression,
                                     const std::vector<std::string>& ids);

struct Contents {
    std::vector<Pattern> patterns;
    std::vector<Suppression> suppressions;
    // One clear sentence for each thing that was wrong; what it was about is left out.
    std::vector<std::string> problems;
};

// `json`: an object with the lists "pattern" and "ignore", both optional. With `known`, a pattern
// must have a shape and an id that is not among them, and a suppression may name these ids too.
[[nodiscard]] Contents read(std::string_view json, const std::vector<std::string>* known);

}  // namespace cyclewatch::catalog
