// SPDX-License-Identifier: Apache-2.0
// Ranges of library versions, such as ">=0.8.0,<0.8.2". Supports the subset of PEP 440 that is
// needed to distinguish affected releases from fixed ones.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace cyclewatch::advice {

// A local version label ("+cu121") is ignored.
struct Version {
    std::vector<std::uint64_t> release;  // without trailing zeros: "2.0" equals "2.0.0"
    bool before_release = false;  // a pre-release or development release: "2.0rc1", "2.0.dev3"
};

// std::nullopt if `text` does not begin with a number.
[[nodiscard]] std::optional<Version> parse_version(std::string_view text);

class VersionRange {
  public:
    // Parses comma-separated clauses with >=, >, <=, <, == or !=. std::nullopt if malformed.
    [[nodiscard]] static std::optional<VersionRange> parse(std::string_view text);

    // True if `version` satisfies every clause.
    [[nodiscard]] bool contains(const Version& version) const;

  private:
    struct Clause {
        bool (*holds)(std::strong_ordering order);  // `order`: the version relative to `bound`
        Version bound;
    };

    static std::optional<Clause> parse_clause(std::string_view text);

    std::vector<Clause> clauses_;
};

}  // namespace cyclewatch::advice
