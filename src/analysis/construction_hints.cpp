// SPDX-License-Identifier: Apache-2.0
#include "analysis/construction_hints.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <vector>

#include "analysis/names.h"

namespace cyclewatch::analysis {
namespace {

using model::ValueOrigin;

constexpr std::array<std::string_view, 16> kParentNames{"parent",
                                                        "owner",
                                                        "root",
                                                        "root_tx",
                                                        "back",
                                                        "backref",
                                                        "back_ref",
                                                        "outer",
                                                        "host",
                                                        "container",
                                                        "parent_ref",
                                                        "whole",
                                                        "up",
                                                        "prev",
                                                        "previous",
                                                        "predecessor"};

// A class whose name ends with one of these words is assumed to be a handle class. A handle is an
// object that its creator stores and returns to callers. "handle" is not included: callers usually
// drop the handle that subscribe() returns, so only the list of handles keeps the callback alive.
constexpr std::array<std::string_view, 20> kHandleWords{
    "cursor", "lease",    "loan",        "view",   "iter",        "iterator", "slice",
    "window", "snapshot", "reservation", "permit", "transaction", "session",  "reader",
    "guard",  "readonly", "borrow",      "proxy",  "result",      "results"};

// An attribute is assumed to be a list of handles if its name contains one of these words, or a
// word from kHandleWords in the singular or plural.
constexpr std::array<std::string_view, 17> kAwayWords{"open",
                                                      "opened",
                                                      "out",
                                                      "outstanding",
                                                      "live",
                                                      "alive",
                                                      "issued",
                                                      "lent",
                                                      "leased",
                                                      "loaned",
                                                      "borrowed",
                                                      "derived",
                                                      "spawned",
                                                      "identity",
                                                      "last",
                                                      "latest",
                                                      "recent"};

std::string_view bare(std::string_view name) {
    return name.substr(std::min(name.find_first_not_of('_'), name.size()));
}

// "ShardCursor" and "open_cursors" -> "shard", "cursor" and "open", "cursors".
std::vector<std::string> words_of(std::string_view name) {
    std::vector<std::string> words;
    char before = '_';
    for (const char c : name) {
        const auto letter = static_cast<unsigned char>(c);
        const bool begins =
            before == '_' ||
            (std::isupper(letter) != 0 && std::islower(static_cast<unsigned char>(before)) != 0);
        if (c != '_') {
            if (begins) {
                words.emplace_back();
            }
            words.back().push_back(static_cast<char>(std::tolower(letter)));
        }
        before = c;
    }
    return words;
}

bool is_handle_class(std::string_view name) {
    const std::vector<std::string> words = words_of(name);
    return !words.empty() && contains(kHandleWords, words.back());
}

bool is_list_of_handles(std::string_view name) {
    return std::ranges::any_of(words_of(name), [](const std::string& word) {
        const bool plural = word.size() > 1 && word.back() == 's';
        return contains(kAwayWords, word) ||
               contains(kHandleWords, std::string_view(word).substr(0, word.size() - plural));
    });
}

// If a name has several words, the first or last word must be unambiguous: "up" may name a parent,
// but "up_proj" does not.
bool is_parent_name(std::string_view name) {
    static constexpr std::array<std::string_view, 4> kFirst{"parent", "owner", "prev", "previous"};
    static constexpr std::array<std::string_view, 2> kLast{"parent", "owner"};
    const std::string_view words = bare(name);
    const std::size_t first = words.find('_');
    return contains(kParentNames, words) || (first != std::string_view::npos &&
                                             (contains(kFirst, words.substr(0, first)) ||
                                              contains(kLast, words.substr(words.rfind('_') + 1))));
}

}  // namespace

// True if the target of reference `i` stores a third object of the cycle without creating it. The
// target then does not contain the holder of reference `i`.
bool ConstructionHints::was_passed_the_way(std::size_t i) const {
    const std::size_t next = cycle_.next(i);
    return cycle_.target(next) != cycle_.holder(i) && cycle_.is_object(cycle_.target(next)) &&
           origin_of_value(next) == ValueOrigin::taken;
}

bool ConstructionHints::is_named_as_parent(std::size_t i) const {
    return is_parent_name(graph_.label_name(cycle_.edges[i])) && !was_passed_the_way(i);
}

ValueOrigin ConstructionHints::origin_of_value(std::size_t i) const {
    const model::AttributeSite* const found = site_of(graph_, cycle_.edges[i]);
    return found == nullptr ? ValueOrigin::unknown : found->value;
}

bool ConstructionHints::is_created_by_target(std::size_t i) const {
    const model::AttributeSite* const found = site_of(graph_, cycle_.edges[i]);
    return found != nullptr && found->holder_made_by_target;
}

bool ConstructionHints::leads_back_to_creator(std::size_t i) const {
    const auto creates = [this](std::size_t k) { return origin_of_value(k) == ValueOrigin::made; };
    bool any = false;
    const auto creates_if_between_objects = [&](std::size_t k) {
        const bool counts =
            !is_container(graph_, cycle_.holder(k)) && !is_container(graph_, cycle_.target(k));
        any = any || counts;
        return !counts || (cycle_.is_object(cycle_.holder(k)) && creates(k));
    };
    return is_created_by_target(i) ||
           (!creates(i) && cycle_.all_others(i, creates_if_between_objects) && any);
}

bool ConstructionHints::stores_itself(std::size_t i) const {
    return origin_of_value(i) == ValueOrigin::gives_itself;
}

bool ConstructionHints::is_clearly_forward(std::size_t i) const {
    return cycle_.size() <= kFarthestLook && !cycle_.all_others(i, [this](std::size_t k) {
        const bool stored = stores_itself(k) && !is_container(graph_, cycle_.target(k));
        return !leads_back_to_creator(k) && !stored;
    });
}

// The reference of an object that leads to the holder of reference `i`, directly or through
// containers.
std::size_t ConstructionHints::way_into(std::size_t i) const {
    return cycle_.outside_containers(cycle_.previous(i));
}

bool ConstructionHints::is_handle(std::size_t i) const {
    const std::size_t into = way_into(i);
    return is_created_by_target(i) && cycle_.holder(into) == cycle_.target(i) &&
           origin_of_value(into) != ValueOrigin::taken &&
           (is_handle_class(short_name(graph_, cycle_.holder(i))) ||
            is_list_of_handles(graph_.label_name(cycle_.edges[into])));
}

bool ConstructionHints::keeps_handle(std::size_t i) const {
    std::size_t back = cycle_.next(i);
    for (std::size_t steps = 0; steps < kFarthestLook && is_container(graph_, cycle_.holder(back));
         ++steps) {
        back = cycle_.next(back);
    }
    return cycle_.target(back) == cycle_.holder(i) && is_handle(back);
}

}  // namespace cyclewatch::analysis
