// SPDX-License-Identifier: Apache-2.0
#include "catalog/shape.h"

#include <gtest/gtest.h>

namespace cyclewatch::catalog {
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

Pattern shaped(std::vector<Step> steps) {
    Pattern pattern;
    pattern.steps = std::move(steps);
    return pattern;
}

TEST(Glob, MatchesTheWholeText) {
    EXPECT_TRUE(glob_matches("*", ""));
    EXPECT_TRUE(glob_matches("function *.<lambda>", "function app.Engine.<lambda>"));
    EXPECT_TRUE(glob_matches("*a*b*", "xxaxxbxx"));
    EXPECT_TRUE(glob_matches("[?]", "[3]"));
    EXPECT_FALSE(glob_matches("", "a"));
    EXPECT_FALSE(glob_matches("app", "app.Engine"));
    EXPECT_FALSE(glob_matches("*ab", "aab "));
    EXPECT_FALSE(glob_matches("[?]", "[34]"));
    EXPECT_FALSE(glob_matches("a?", "a"));
}

TEST(Glob, DoesNotBlowUp) {
    EXPECT_FALSE(glob_matches("*a*a*a*a*a*a*a*a*b", std::string(5000, 'a')));
}

TEST(Shape, BeginsAnywhereInTheCycle) {
    EXPECT_TRUE(shape_matches(shaped({{"app.Engine", ".hooks", "list"}}), engine()));
    EXPECT_TRUE(shape_matches(shaped({{"*", "closure:*", "app.Engine"}, {"app.*", ".hooks", "*"}}),
                              engine()));
}

TEST(Shape, NeedsEveryStepInOrder) {
    EXPECT_FALSE(shape_matches(shaped({{"app.Engine", ".hooks", "*"}, {"*", "closure:self", "*"}}),
                               engine()));
    EXPECT_FALSE(shape_matches(shaped({{"app.Engine", ".weights", "*"}}), engine()));
    EXPECT_FALSE(shape_matches(shaped({{}, {}, {}, {}}), engine())) << "longer than the cycle";
}

TEST(Shape, LooksAtWhatIsSuggested) {
    Pattern pattern = shaped({{"app.Engine", ".hooks", "*"}});
    pattern.suggests = Step{"*", ".weights", "torch.*"};
    EXPECT_TRUE(shape_matches(pattern, engine()));
    pattern.suggests = Step{"*", "closure:self", "*"};
    EXPECT_TRUE(shape_matches(pattern, engine()));
    pattern.suggests = Step{"*", ".hooks", "*"};
    EXPECT_FALSE(shape_matches(pattern, engine())) << "on the cycle, but not suggested";
}

TEST(Shape, OfNothingMatchesNothing) {
    EXPECT_FALSE(shape_matches(Pattern{}, engine()));
    EXPECT_FALSE(shape_matches(shaped({{}}), model::Finding{}));
}

}  // namespace
}  // namespace cyclewatch::catalog
