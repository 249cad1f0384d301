// SPDX-License-Identifier: Apache-2.0
#include "advice/shape.h"

#include <gtest/gtest.h>

namespace cyclewatch::advice {
namespace {

model::Reference reference(const char* holder, const char* label, const char* target) {
    model::Reference made;
    made.holder = holder;
    made.label = label;
    made.target = target;
    return made;
}

// Engine.hooks -> [0] -> <lambda>.closure:self -> Engine
model::Finding engine() {
    model::Finding finding;
    finding.cycle = {
        reference("app.Engine", ".hooks", "list"),
        reference("list", "[0]", "function app.Engine.<lambda>"),
        reference("function app.Engine.<lambda>", "closure:self", "app.Engine"),
    };
    finding.cut = {finding.cycle[2]};
    finding.alternatives = {reference("app.Engine", ".weights", "torch.Tensor")};
    return finding;
}

TEST(Glob, MatchesTheWholeText) {
    const struct {
        const char* glob;
        std::string text;
        bool matches;
    } cases[] = {
        {"*", "", true},
        {"function *.<lambda>", "function app.Engine.<lambda>", true},
        {"*a*b*", "xxaxxbxx", true},
        {"[?]", "[3]", true},
        {"", "a", false},
        {"app", "app.Engine", false},
        {"*ab", "aab ", false},
        {"[?]", "[34]", false},
        {"a?", "a", false},
        {"*a*a*a*a*a*a*a*a*b", std::string(5000, 'a'), false},  // not in exponential time
    };
    for (const auto& one : cases) {
        EXPECT_EQ(glob_matches(one.glob, one.text), one.matches) << one.glob;
    }
}

TEST(Shape, MatchesConsecutiveReferences) {
    const struct {
        std::vector<Step> steps;
        std::optional<Step> suggests;
        bool matches;
    } cases[] = {
        {{{"app.Engine", ".hooks", "list"}}, {}, true},
        {{{"*", "closure:*", "app.Engine"}, {"app.*", ".hooks", "*"}}, {}, true},  // wraps around
        {{{"app.Engine", ".hooks", "*"}, {"*", "closure:self", "*"}}, {}, false},  // not adjacent
        {{{"app.Engine", ".weights", "*"}}, {}, false},  // not on the cycle
        {{{}, {}, {}, {}}, {}, false},                   // longer than the cycle
        {{{"app.Engine", ".hooks", "*"}}, Step{"*", ".weights", "torch.*"}, true},
        {{{"app.Engine", ".hooks", "*"}}, Step{"*", "closure:self", "*"}, true},
        {{{"app.Engine", ".hooks", "*"}}, Step{"*", ".hooks", "*"}, false},  // not suggested
        {{}, {}, false},
    };
    for (std::size_t i = 0; i < std::size(cases); ++i) {
        Pattern pattern;
        pattern.steps = cases[i].steps;
        pattern.suggests = cases[i].suggests;
        EXPECT_EQ(shape_matches(pattern, engine()), cases[i].matches) << i;
        EXPECT_FALSE(shape_matches(pattern, model::Finding{})) << i;
    }
}

}  // namespace
}  // namespace cyclewatch::advice
