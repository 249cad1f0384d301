// SPDX-License-Identifier: Apache-2.0
#include "analysis/who_made_whom.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <vector>

#include "analysis/names.h"
#include "analysis/words.h"

namespace cyclewatch::analysis {
namespace {

using model::HolderMade;
using model::ValueOrigin;

constexpr std::array<std::string_view, 16> kWholeNames{"parent",
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

// What objects are called that somebody was handed to reach another one by.
constexpr std::array<std::string_view, 21> kHandleWords{
    "cursor", "lease",  "loan",     "view",        "iter",   "iterator",    "handle",
    "slice",  "window", "snapshot", "reservation", "permit", "transaction", "session",
    "reader", "guard",  "readonly", "borrow",      "proxy",  "result",      "results"};

// What lists of such objects are called, besides their plurals: they say where these are.
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

// What lists of objects are called that look at the one that keeps them, or were computed from it:
// they need it, and not the other way round.
constexpr std::array<std::string_view, 11> kObserverWords{"observers",
                                                          "watchers",
                                                          "viewers",
                                                          "subscribers",
                                                          "followers",
                                                          "dependents",
                                                          "users",
                                                          "uses",
                                                          "consumers",
                                                          "outputs",
                                                          "outvars"};

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

bool is_list_of_observers(std::string_view name) {
    const std::vector<std::string> words = words_of(name);
    return !words.empty() && contains(kObserverWords, words.back());
}

// Of several words only those count that mean nothing else ("up_proj" is no such name).
bool is_whole_name(std::string_view name) {
    static constexpr std::array<std::string_view, 4> kFirst{"parent", "owner", "prev", "previous"};
    static constexpr std::array<std::string_view, 2> kLast{"parent", "owner"};
    const std::string_view words = bare(name);
    const std::size_t first = words.find('_');
    return contains(kWholeNames, words) || (first != std::string_view::npos &&
                                            (contains(kFirst, words.substr(0, first)) ||
                                             contains(kLast, words.substr(words.rfind('_') + 1))));
}

// True if there are other references between objects than number `i`, with nothing but containers
// beside them, and all are as `test` says.
template <typename Test>
bool all_others(const LoopView& loop, std::size_t i, Test test) {
    bool any = false;
    for (std::size_t k = loop.next(i); k != i && loop.size() <= kFarthestLook; k = loop.next(k)) {
        if (is_container(loop.graph, loop.holder(k)) || is_container(loop.graph, loop.target(k))) {
            continue;
        }
        any = loop.is_object(loop.holder(k)) && test(k);
        if (!any) {
            return false;
        }
    }
    return any;
}

// The number of the nearest reference in one direction whose holder is no container.
std::size_t nearest_of_object(const LoopView& loop,
                              std::size_t i,
                              std::size_t (LoopView::*step)(std::size_t) const) {
    std::size_t k = (loop.*step)(i);
    for (std::size_t steps = 0; steps < kFarthestLook && is_container(loop.graph, loop.holder(k));
         ++steps) {
        k = (loop.*step)(k);
    }
    return k;
}

}  // namespace

const model::AttributeSite* WhoMadeWhom::site(std::size_t i) const {
    return site_of(graph_, loop_.edges[i]);
}

bool WhoMadeWhom::are_alike(std::size_t i) const {
    return full_name(graph_, loop_.holder(i)) == full_name(graph_, loop_.target(i));
}

bool WhoMadeWhom::is_named_as_whole(std::size_t i) const {
    const std::string_view name = graph_.label_name(loop_.edges[i]);
    if (are_alike(i)) {
        // Links of a chain go both ways. But a scope needs the one around it, to look names up.
        return bare(name) != "outer" &&
               (is_whole_name(name) || bare(name) == "before" || bare(name) == "above");
    }
    return is_whole_name(name);
}

bool WhoMadeWhom::is_named_as_link_back(std::size_t i) const {
    static constexpr std::array<std::string_view, 4> kFirstWords{
        "prev", "previous", "predecessor", "before"};
    const std::string_view name = bare(graph_.label_name(loop_.edges[i]));
    return are_alike(i) && contains(kFirstWords, name.substr(0, name.find('_')));
}

bool WhoMadeWhom::is_named_as_helper(std::size_t i) const {
    static constexpr std::array<std::string_view, 3> kLastWords{"accessor", "indexer", "locator"};
    const std::vector<std::string> words = words_of(short_name(graph_, loop_.target(i)));
    return (!words.empty() && contains(kLastWords, words.back())) ||
           graph_.label_name(loop_.edges[i]).starts_with("_cached");
}

ValueOrigin WhoMadeWhom::origin_of_value(std::size_t i) const {
    const model::AttributeSite* const found = site(i);
    return found == nullptr ? ValueOrigin::unknown : found->value;
}

bool WhoMadeWhom::is_set_in_constructor(std::size_t i) const {
    const model::AttributeSite* const found = site(i);
    return found != nullptr && found->in_constructor;
}

// What was read of two classes says nothing of two objects of one: there the one that was made is
// the one that was given the other when it was.
bool WhoMadeWhom::may_be_of_maker(std::size_t i) const {
    return !are_alike(i) || (is_set_in_constructor(i) && origin_of_value(i) == ValueOrigin::taken);
}

bool WhoMadeWhom::is_made_by_target(std::size_t i) const {
    const model::AttributeSite* const found = site(i);
    // What was made and put itself there is no part that its maker keeps.
    return found != nullptr && found->holder_made != HolderMade::unknown &&
           !gives_itself(way_into(i)) && may_be_of_maker(i);
}

bool WhoMadeWhom::leads_back_to_maker(std::size_t i) const {
    const auto makes = [this](std::size_t k) { return origin_of_value(k) == ValueOrigin::made; };
    return is_made_by_target(i) || (!makes(i) && all_others(loop_, i, makes));
}

bool WhoMadeWhom::gives_itself(std::size_t i) const {
    return origin_of_value(i) == ValueOrigin::gives_itself;
}

bool WhoMadeWhom::is_in_own_container(std::size_t i) const {
    std::size_t k = loop_.next(i);
    for (std::size_t steps = 0; steps < kFarthestLook && k != i; ++steps, k = loop_.next(k)) {
        const bool is_made =
            loop_.is_object(loop_.holder(k)) && origin_of_value(k) == ValueOrigin::made;
        if (!is_made && !is_container(graph_, loop_.target(k))) {
            return false;
        }
    }
    return k == i;
}

bool WhoMadeWhom::closes_loop_of_constructors(std::size_t i) const {
    const auto needed = [this](std::size_t k) {
        return is_set_in_constructor(k) && !gives_itself(k);
    };
    const bool from_outside = gives_itself(i) || origin_of_value(i) == ValueOrigin::taken;
    return from_outside && !needed(i) && all_others(loop_, i, needed);
}

bool WhoMadeWhom::is_clearly_ahead(std::size_t i) const {
    for (std::size_t k = loop_.next(i); k != i && loop_.size() <= kFarthestLook;
         k = loop_.next(k)) {
        if (leads_back_to_maker(k) || closes_loop_of_constructors(k) || gives_itself(k)) {
            return true;
        }
    }
    return false;
}

// The reference of `i`'s target, or of what its containers hold, that comes next on the loop.
std::size_t WhoMadeWhom::way_back_from(std::size_t i) const {
    return nearest_of_object(loop_, i, &LoopView::next);
}

// The reference of an object by which it leads, through containers, to `i`'s holder.
std::size_t WhoMadeWhom::way_into(std::size_t i) const {
    return nearest_of_object(loop_, i, &LoopView::previous);
}

// True if the target keeps the holder, by itself or in a container.
bool WhoMadeWhom::leads_back(std::size_t i) const {
    return loop_.holder(way_into(i)) == loop_.target(i) && !is_named_as_whole(i);
}

// What most of the memory hangs on is no mere handle to the other.
bool WhoMadeWhom::keeps_more_than_target(std::size_t i) const {
    return !loop_.kept.empty() && loop_.kept[i] > loop_.kept[way_into(i)];
}

bool WhoMadeWhom::is_given_out(std::size_t i) const {
    const model::AttributeSite* const found = site(i);
    return found != nullptr && may_be_of_maker(i) &&
           (found->holder_made == HolderMade::given_out_by_target ||
            found->holder_made == HolderMade::iterator_of_the_target) &&
           // What another method of the target's own asked for and kept is for itself.
           origin_of_value(way_into(i)) != ValueOrigin::taken && leads_back(i);
}

bool WhoMadeWhom::is_iterator(std::size_t i) const {
    return is_given_out(i) && site(i)->holder_made == HolderMade::iterator_of_the_target;
}

bool WhoMadeWhom::is_handle(std::size_t i) const {
    return is_given_out(i) && !keeps_more_than_target(i) &&
           (is_iterator(i) || is_handle_class(short_name(graph_, loop_.holder(i))) ||
            is_list_of_handles(graph_.label_name(loop_.edges[way_into(i)])));
}

bool WhoMadeWhom::keeps_given_out(std::size_t i) const {
    const std::size_t back = way_back_from(i);
    return loop_.target(back) == loop_.holder(i) && is_given_out(back);
}

bool WhoMadeWhom::keeps_handle(std::size_t i) const {
    const std::size_t back = way_back_from(i);
    return loop_.target(back) == loop_.holder(i) && is_handle(back);
}

bool WhoMadeWhom::is_observer(std::size_t i) const {
    return keeps_observer(way_into(i));
}

bool WhoMadeWhom::keeps_observer(std::size_t i) const {
    if (!is_container(graph_, loop_.target(i)) ||
        !is_list_of_observers(graph_.label_name(loop_.edges[i]))) {
        return false;
    }
    const std::size_t back = way_back_from(i);
    return way_back_from(back) == i && !is_named_as_whole(back);
}

}  // namespace cyclewatch::analysis
