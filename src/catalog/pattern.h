// SPDX-License-Identifier: Apache-2.0
// One kind of cycle with every word that is said about it, as an entry of patterns.toml or of a
// user's cyclewatch.toml has it. docs/configuration.md explains the keys.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/version_range.h"

namespace cyclewatch::catalog {

// The texts about one reference. fill() replaces slots such as {holder}.
struct Words {
    std::string explanation;  // why it keeps memory: a clause without a full stop
    std::string advice;       // what to write instead: one or two sentences
    std::string cost;         // what an alternative costs: a clause; only built-in patterns
};

// Globs over one reference as a report shows it; `*` stands for any text.
struct Step {
    std::string holder = "*";
    std::string label = "*";
    std::string target = "*";
};

// A package whose known leak this is, in the versions of the range.
struct Library {
    std::string package;
    std::string versions;
    VersionRange range;
};

struct Pattern {
    std::string id;
    std::string title;
    std::string shape;  // in words
    Words words;
    std::map<std::string, Words, std::less<>> variants;  // of one kind, the ways to meet it
    std::string before;                                  // a few lines of code that leak
    std::string after;                                   // the same, mended
    std::vector<std::string> links;                      // to public cases of this kind
    bool benign = false;                                 // a cycle that is meant to be
    std::optional<Library> library;

    // For patterns that are recognised by shape alone; empty for those that the analysis knows.
    std::vector<Step> steps;       // references of the cycle, one after the other
    std::optional<Step> suggests;  // a reference that the analysis suggests

    [[nodiscard]] bool has_shape() const { return !steps.empty() || suggests.has_value(); }
    // "benign", "library".
    [[nodiscard]] std::vector<std::string> tags() const;
};

}  // namespace cyclewatch::catalog
