// SPDX-License-Identifier: Apache-2.0
#include "advice/slots.h"

#include <gtest/gtest.h>

namespace cyclewatch::advice {
namespace {

Slots slots(const char* label) {
    model::Reference reference;
    reference.holder = "function app.Engine.__init__.<locals>.<lambda>";
    reference.label = label;
    reference.target = "app.Engine";
    return slots_of(reference);
}

TEST(Slots, AreReplacedByTheNamesOfTheReference) {
    EXPECT_EQ(fill("{holder} {target} {label} {variable}.", slots("closure:self")),
              "`<lambda>` Engine closure:self self.");
}

TEST(Slots, VariableIsTheNameInTheLabel) {
    EXPECT_EQ(slots(".callback").variable, "callback");
    EXPECT_EQ(slots("slot:parent").variable, "parent");
    EXPECT_EQ(slots("['root']").variable, "root");
    EXPECT_EQ(slots("[3]").variable, "[3]");
    EXPECT_EQ(slots("__self__").variable, "__self__");
}

TEST(Slots, OtherBracesAreUnchanged) {
    EXPECT_EQ(fill("x = {} or {1: 2} or {'a'}", slots(".a")), "x = {} or {1: 2} or {'a'}");
    Slots odd = slots(".a");
    odd.variable = "{holder}";
    EXPECT_EQ(fill("{variable}", odd), "{holder}") << "not replaced twice";
    EXPECT_EQ(fill("{", odd), "{");
}

TEST(Slots, UnknownOnesAreReported) {
    EXPECT_EQ(unknown_slot("{holder} of {owner}"), "owner");
    EXPECT_EQ(unknown_slot("{} {1: 2} {target}"), "");
}

}  // namespace
}  // namespace cyclewatch::advice
