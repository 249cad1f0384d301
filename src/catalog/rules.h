// SPDX-License-Identifier: Apache-2.0
// Whether a finding is news: the patterns that are recognised by shape, built in or the user's,
// and what the user asked not to be told again.
//
// Not thread-safe; a program has one, and its callers hold the GIL.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "catalog/pattern.h"
#include "catalog/reader.h"
#include "model/finding.h"

namespace cyclewatch::catalog {

// The version of an installed package, "" if it cannot be told.
using VersionOf = std::function<std::string(const std::string& package)>;

class Rules {
  public:
    // What a configuration file says, in place of what an earlier one said. Returns its problems.
    std::vector<std::string> configure(std::string_view json);

    // Adds to what is ignored. Returns what is wrong with it, "" if nothing is.
    [[nodiscard]] std::string ignore(Suppression suppression);

    // The user's patterns, then the built-in ones.
    [[nodiscard]] std::vector<Pattern> patterns() const;

    // Gives a finding as the analysis made it the pattern whose shape it has, and its status.
    void judge(model::Finding& finding, const VersionOf& version_of) const;

  private:
    [[nodiscard]] std::vector<std::string> ids() const;
    [[nodiscard]] const Suppression* suppression_of(const model::Finding& finding) const;

    std::vector<Pattern> own_;
    std::vector<Suppression> configured_;
    std::vector<Suppression> asked_;
};

}  // namespace cyclewatch::catalog
