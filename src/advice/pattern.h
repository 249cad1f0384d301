// SPDX-License-Identifier: Apache-2.0
// A pattern is a class of cycles, with the message texts that reports show for these cycles.
// Patterns come from patterns.toml or a user's cyclewatch.toml;
// cyclewatch/settings/configuration_reader.py checks both. docs/configuration.md explains the keys.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cyclewatch::advice {

// Message texts about one reference. fill() replaces slots such as {holder}.
struct Words {
    std::string explanation;  // why it retains memory: a clause without a full stop
    std::string advice;       // how to change the code: one or two sentences
    std::string cost;         // of cutting an alternative: a clause; built-in patterns only
};

// Globs that the holder, label and target of one reference in a report must match.
struct Step {
    std::string holder = "*";
    std::string label = "*";
    std::string target = "*";
};

// The numbers of a release: {2, 13, 0} for "2.13.0".
using Release = std::vector<std::uint32_t>;

// The versions of a library that have this leak.
struct Library {
    std::string package;
    std::string versions;  // ">=2.1,<2.4", as shown in reports
    Release first;         // the first affected release; empty: all earlier ones
    Release fixed_in;      // the first release without the leak; empty: unknown
};

struct Pattern {
    std::string id;
    std::string title;
    std::string shape;  // description of the cycle
    Words words;
    std::map<std::string, Words, std::less<>> variants;  // texts for special cases
    std::string before;                                  // example code that leaks
    std::string after;                                   // the example, fixed
    std::vector<std::string> links;                      // public bug reports
    bool benign = false;                                 // an intentional cycle
    std::optional<Library> library;

    // The references that a finding must contain to match this pattern. Empty for patterns that
    // src/analysis/edge_classifier.cpp recognises.
    std::vector<Step> steps;       // consecutive references of the cycle
    std::optional<Step> suggests;  // a reference to cut, or an alternative

    [[nodiscard]] bool has_shape() const { return !steps.empty() || suggests.has_value(); }
    // Returns "benign", "library", both or neither.
    [[nodiscard]] std::vector<std::string> tags() const;
};

}  // namespace cyclewatch::advice
