// SPDX-License-Identifier: Apache-2.0
// Ranges of library versions, ">=0.8.0,<0.8.2": the part of Python's version rules that telling
// an affected release from a mended one takes.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace cyclewatch::catalog {

// Release numbers, and whether it comes before the release ("2.0rc1", "2.0.dev3"). What follows a
// "+" says how a version was built, not which it is.
struct Version {
    std::vector<std::uint64_t> release;
    bool before_release = false;
};

// Nothing if `text` begins with no number.
[[nodiscard]] std::optional<Version> parse_version(std::string_view text);

class VersionRange {
  public:
    // Clauses of >=, >, <=, <, == and !=, with commas between. Nothing if it is not that.
    [[nodiscard]] static std::optional<VersionRange> parse(std::string_view text);

    // True if `version` fulfils every clause.
    [[nodiscard]] bool contains(const Version& version) const;

  private:
    enum class Relation : std::uint8_t { less, at_most, equal, unequal, at_least, greater };
    struct Clause {
        Relation relation = Relation::equal;
        Version bound;
    };

    static std::optional<Clause> parse_clause(std::string_view text);

    std::vector<Clause> clauses_;
};

}  // namespace cyclewatch::catalog
