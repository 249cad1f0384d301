// SPDX-License-Identifier: Apache-2.0
#include "advice/rules.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "advice/catalog.h"
#include "advice/library_code.h"
#include "advice/slots.h"
#include "base/source_path.h"
#include "base/text.h"
#include "model/mistake.h"

namespace cyclewatch::advice {
namespace {

constexpr std::string_view kLibraryCode =
    "all code to change is library code; until it is fixed, call gc.collect() after use";

constexpr std::string_view kNeverFreedLibraryCode =
    "all code to change is library code, and no collection frees the cycle";

bool step_matches(const Step& step, const model::Reference& reference) {
    return glob_matches(step.label, reference.label) &&
           glob_matches(step.holder, reference.holder) &&
           glob_matches(step.target, reference.target);
}

bool steps_match_from(const Pattern& pattern, const model::Finding& finding, std::size_t start) {
    for (std::size_t i = 0; i < pattern.steps.size(); ++i) {
        if (!step_matches(pattern.steps[i], finding.cycle[(start + i) % finding.cycle.size()])) {
            return false;
        }
    }
    return true;
}

bool steps_match(const Pattern& pattern, const model::Finding& finding) {
    if (pattern.steps.size() > finding.cycle.size()) {
        return false;
    }
    for (std::size_t start = 0; start < finding.cycle.size(); ++start) {
        if (steps_match_from(pattern, finding, start)) {
            return true;
        }
    }
    return pattern.steps.empty();
}

bool suggestion_matches(const Pattern& pattern, const model::Finding& finding) {
    const auto matches = [&pattern](const model::Reference& reference) {
        return step_matches(*pattern.suggests, reference);
    };
    return !pattern.suggests || std::ranges::any_of(finding.cut, matches) ||
           std::ranges::any_of(finding.alternatives, matches);
}

bool matches(const Suppression& suppression, const model::Finding& finding) {
    return (suppression.signature.empty() ||
            model::has_signature(finding, suppression.signature)) &&
           (suppression.pattern.empty() || suppression.pattern == finding.pattern);
}

base::Origin origin_of(const model::Reference& reference) {
    return base::origin_of_path(base::path_of_location(reference.location));
}

// False for code that exec() has compiled from a string, because its author is unknown.
bool is_known(const model::Reference& reference) {
    return !reference.location.empty() && !reference.location.starts_with("<string>");
}

bool is_in_user_code(const model::Reference& reference) {
    return is_known(reference) && origin_of(reference) == base::Origin::user;
}

// True if no location of a reference to cut is known, and library code stores all other references
// of the cycle. False for a cycle that leads through C++ code: library code stores the references
// there for each program, and what closes the cycle is an attribute or hook of the user.
bool is_closed_by_library(const model::Finding& finding) {
    const auto is_cut = [&finding](const model::Reference& reference) {
        return std::ranges::any_of(finding.cut, [&reference](const model::Reference& cut) {
            return cut.holder == reference.holder && cut.label == reference.label &&
                   cut.target == reference.target;
        });
    };
    return finding.collected != model::Collected::uncollectable &&
           std::ranges::none_of(finding.cut, is_known) &&
           std::ranges::any_of(finding.cycle, is_known) &&
           std::ranges::all_of(finding.cycle, [&](const model::Reference& reference) {
               return is_cut(reference) || (is_known(reference) && !is_in_user_code(reference));
           });
}

// True if all known locations of the references to cut are in code of libraries or the standard
// library, and no callable on the cycle is defined in user code: a library may store such a
// callable, but the user can change it.
bool is_library_code(const model::Finding& finding) {
    // In a cycle that leads through C++ code, the library's references may serve every program,
    // and an attribute of the program closes the cycle.
    const auto is_users_attribute = [&finding](const model::Reference& reference) {
        return finding.collected == model::Collected::uncollectable &&
               reference.label.starts_with(".") && is_in_user_code(reference);
    };
    const auto is_users_callable = [](const model::Reference& reference) {
        return is_function(reference.holder) && is_in_user_code(reference);
    };
    return (std::ranges::any_of(finding.cut, is_known) || is_closed_by_library(finding)) &&
           std::ranges::none_of(finding.cut, is_in_user_code) &&
           !(finding.tie && is_in_user_code(finding.alternatives.front())) &&
           std::ranges::none_of(finding.cycle, is_users_attribute) &&
           std::ranges::none_of(finding.cycle, is_users_callable);
}

// True if a reference to cut is in user code and neither end of it is an object of the pattern.
bool cuts_other_user_code(const Pattern& pattern, const model::Finding& finding) {
    const auto is_of_pattern = [&pattern](const model::Reference& cut) {
        return std::ranges::any_of(pattern.steps, [&cut](const Step& step) {
            return glob_matches(step.holder, cut.holder) || glob_matches(step.holder, cut.target);
        });
    };
    return std::ranges::any_of(finding.cut, [&](const model::Reference& cut) {
        return is_in_user_code(cut) && !is_of_pattern(cut);
    });
}

// "Model.cache", as in the `holder_path` of an item of that container.
std::string dotted(const model::Reference& reference) {
    const bool joined = reference.label.starts_with('.') || reference.label.starts_with('[');
    return std::string(base::last_part(reference.holder)) + (joined ? "" : ".") + reference.label;
}

// True if a reference to cut is one of the pattern's `steps`, or an item of a container to which
// such a step leads. The pattern's texts would not fit another cut of the same cycle, or a step for
// which a library is responsible.
bool is_about_cut(const Pattern& pattern, const model::Finding& finding) {
    const auto is_step = [&pattern](const model::Reference& reference) {
        return std::ranges::any_of(pattern.steps,
                                   [&](const Step& step) { return step_matches(step, reference); });
    };
    return pattern.steps.empty() ||
           std::ranges::any_of(finding.cut, [&](const model::Reference& cut) {
               return is_step(cut) ||
                      std::ranges::any_of(finding.cycle, [&](const model::Reference& reference) {
                          return is_step(reference) &&
                                 (!is_known(reference) || is_in_user_code(reference)) &&
                                 cut.holder_path.starts_with(dotted(reference));
                      });
           });
}

std::string with_link(const std::string& text, const Pattern& pattern) {
    return pattern.links.empty() ? text : text + "; see " + pattern.links.front();
}

// Sets the finding's pattern, and replaces the analysis's message texts with the pattern's.
void adopt(model::Finding& finding, const Pattern& pattern) {
    finding.pattern = pattern.id;
    const Slots slots = finding.cut.empty() ? Slots{} : slots_of(finding.cut.front());
    if (!pattern.words.advice.empty()) {
        finding.advice = fill(pattern.words.advice, slots);
        finding.cost.clear();
    }
    const std::string explanation = fill(pattern.words.explanation, slots);
    if (!finding.cut.empty()) {
        finding.cut.front().reason = explanation;
    }
    if (pattern.benign) {
        finding.status = model::Status::benign;
        finding.status_reason = with_link("intentional cycle", pattern);
    }
}

// The numbers at the beginning of a version. Empty if there is none.
Release release_of(std::string_view version) {
    Release release;
    const char* at = version.data();
    const char* const end = at + version.size();
    for (std::uint32_t number = 0; std::from_chars(at, end, number).ec == std::errc{};) {
        release.push_back(number);
        at = std::find_if(at, end, [](char c) { return c < '0' || c > '9'; });
        if (at == end || *at++ != '.') {
            break;
        }
    }
    return release;
}

bool is_affected(const Library& library, std::string_view version) {
    Release release = release_of(version);
    if (release.empty()) {
        return false;
    }
    release.resize(std::max({release.size(), library.first.size(), library.fixed_in.size()}));
    return release >= library.first && (library.fixed_in.empty() || release < library.fixed_in);
}

// Returns false if the pattern does not match, or if the installed version of the library is not
// affected.
bool adopt_if_matching(model::Finding& finding,
                       const Pattern& pattern,
                       const VersionOf& version_of) {
    if (!shape_matches(pattern, finding)) {
        return false;
    }
    if (!pattern.library) {
        adopt(finding, pattern);
        return true;
    }
    const std::string text = version_of(pattern.library->package);
    if (!is_affected(*pattern.library, text)) {
        return false;
    }
    adopt(finding, pattern);
    finding.status = model::Status::library;
    finding.status_reason = with_link("known leak of " + pattern.library->package + " " +
                                          pattern.library->versions + " (installed: " + text + ")",
                                      pattern);
    return true;
}

}  // namespace

bool glob_matches(std::string_view glob, std::string_view text) {
    std::size_t g = 0;
    std::size_t t = 0;
    std::size_t star = std::string_view::npos;  // the last star; it matches text up to `resume`
    std::size_t resume = 0;
    while (t < text.size()) {
        if (g < glob.size() && glob[g] == '*') {
            star = g++;
            resume = t;
        } else if (g < glob.size() && (glob[g] == '?' || glob[g] == text[t])) {
            ++g;
            ++t;
        } else if (star != std::string_view::npos) {
            g = star + 1;
            t = ++resume;
        } else {
            return false;
        }
    }
    return glob.find_first_not_of('*', g) == std::string_view::npos;
}

bool shape_matches(const Pattern& pattern, const model::Finding& finding) {
    return pattern.has_shape() && steps_match(pattern, finding) &&
           suggestion_matches(pattern, finding);
}

bool warns(const model::Finding& finding) {
    return finding.status == model::Status::fresh ||
           (finding.status == model::Status::library &&
            (finding.status_reason == kLibraryCode ||
             finding.status_reason == kNeverFreedLibraryCode));
}

void Rules::configure(std::vector<Pattern> patterns, std::vector<Suppression> suppressions) {
    user_patterns_ = std::move(patterns);
    configured_ = std::move(suppressions);
    ++version_;
}

void Rules::ignore(Suppression suppression) {
    added_.push_back(std::move(suppression));
    ++version_;
}

std::vector<Pattern> Rules::patterns() const {
    std::vector<Pattern> all = user_patterns_;
    const std::vector<Pattern>& built_in = Catalog::built_in().patterns();
    all.insert(all.end(), built_in.begin(), built_in.end());
    return all;
}

void Rules::judge(model::Finding& finding, const VersionOf& version_of) const {
    const auto adopted = [&](const Pattern& pattern) {
        return adopt_if_matching(finding, pattern, version_of);
    };
    // The user's patterns take precedence.
    if (std::ranges::none_of(user_patterns_, adopted)) {
        (void)std::ranges::any_of(Catalog::built_in().patterns(), [&](const Pattern& pattern) {
            if (!pattern.benign && !pattern.library && !is_about_cut(pattern, finding)) {
                return false;
            }
            // An intentional cycle must not hide a mistake in the same group of objects.
            return !(pattern.benign && cuts_other_user_code(pattern, finding)) && adopted(pattern);
        });
    }
    if (finding.status == model::Status::fresh && is_library_code(finding)) {
        finding.status = model::Status::library;
        finding.status_reason = finding.collected == model::Collected::uncollectable
                                    ? kNeverFreedLibraryCode
                                    : kLibraryCode;
    }
    if (const Suppression* const suppression = suppression_of(finding); suppression != nullptr) {
        finding.status = model::Status::ignored;
        finding.status_reason = suppression->reason;
    }
}

const Suppression* Rules::suppression_of(const model::Finding& finding) const {
    for (const std::vector<Suppression>* list : {&added_, &configured_}) {
        for (const Suppression& suppression : *list) {
            if (matches(suppression, finding)) {
                return &suppression;
            }
        }
    }
    return nullptr;
}

}  // namespace cyclewatch::advice
