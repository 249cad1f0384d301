// SPDX-License-Identifier: Apache-2.0
#include "advice/version_range.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace cyclewatch::advice {
namespace {

std::string_view trimmed(std::string_view text) {
    const std::size_t first = text.find_first_not_of(" \t");
    if (first == std::string_view::npos) {
        return {};
    }
    return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::strong_ordering operator<=>(const Version& a, const Version& b) {
    const std::strong_ordering order = a.release <=> b.release;
    return std::is_neq(order) ? order : b.before_release <=> a.before_release;
}

}  // namespace

std::optional<Version> parse_version(std::string_view text) {
    text = trimmed(text);
    Version version;
    const char* at = text.data();
    const char* const end = text.data() + text.size();
    for (;;) {
        std::uint64_t number = 0;
        const auto [after, error] = std::from_chars(at, end, number);
        if (error != std::errc{}) {
            break;
        }
        version.release.push_back(number);
        at = after;
        if (at == end || *at != '.') {
            break;
        }
        ++at;
    }
    if (version.release.empty()) {
        return std::nullopt;
    }
    while (!version.release.empty() && version.release.back() == 0) {
        version.release.pop_back();
    }
    const std::string_view rest = text.substr(static_cast<std::size_t>(at - text.data()));
    const std::string_view suffix = rest.substr(0, rest.find('+'));
    for (const std::string_view mark : {"a", "b", "rc", "dev", "alpha", "beta"}) {
        version.before_release = version.before_release || suffix.starts_with(mark);
    }
    return version;
}

std::optional<VersionRange::Clause> VersionRange::parse_clause(std::string_view text) {
    // Two-character operators first: "<" is a prefix of "<=".
    using Order = std::strong_ordering;
    static constexpr std::array<std::pair<std::string_view, bool (*)(Order)>, 6> kRelations{{
        {">=", [](Order order) { return std::is_gteq(order); }},
        {"<=", [](Order order) { return std::is_lteq(order); }},
        {"==", [](Order order) { return std::is_eq(order); }},
        {"!=", [](Order order) { return std::is_neq(order); }},
        {">", [](Order order) { return std::is_gt(order); }},
        {"<", [](Order order) { return std::is_lt(order); }},
    }};
    text = trimmed(text);
    for (const auto& [sign, holds] : kRelations) {
        if (text.starts_with(sign)) {
            const std::optional<Version> bound = parse_version(text.substr(sign.size()));
            return bound ? std::optional(Clause{holds, *bound}) : std::nullopt;
        }
    }
    return std::nullopt;
}

std::optional<VersionRange> VersionRange::parse(std::string_view text) {
    VersionRange range;
    for (;;) {
        const std::size_t comma = text.find(',');
        std::optional<Clause> clause = parse_clause(text.substr(0, comma));
        if (!clause) {
            return std::nullopt;
        }
        range.clauses_.push_back(std::move(*clause));
        if (comma == std::string_view::npos) {
            return range;
        }
        text.remove_prefix(comma + 1);
    }
}

bool VersionRange::contains(const Version& version) const {
    return std::ranges::all_of(clauses_, [&version](const Clause& clause) {
        return clause.holds(version <=> clause.bound);
    });
}

}  // namespace cyclewatch::advice
