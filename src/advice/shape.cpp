// SPDX-License-Identifier: Apache-2.0
#include "advice/shape.h"

#include <algorithm>

namespace cyclewatch::advice {
namespace {

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

}  // namespace cyclewatch::advice
