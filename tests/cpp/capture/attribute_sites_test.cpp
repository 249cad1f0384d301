// SPDX-License-Identifier: Apache-2.0
#include "capture/attribute_sites.h"

#include <gtest/gtest.h>

#include "support/embedded_python.h"

namespace cyclewatch::test {
namespace {

constexpr const char* kSource = R"(
class View:
    def __init__(self, model):
        self.model = model
        model.observers.add(self)
class Derived(View):
    pass
class Use:
    def attach(self, *operands):
        for operand in operands:
            operand.observers[self] = None
class Nested:
    def attach(self, scene):
        scene.model.observers.append(self)
class Child:
    def __init__(self, model):
        self.model = model
class Parent:
    def add(self, child):
        self.observers.append(child)
class Own:
    def __init__(self):
        self.observers = [self]
        self.observers.append(1)
class Leaves:
    def close(self):
        self.model.observers.remove(self)
class OtherList:
    def __init__(self, model):
        model.children.append(self)
)";

TEST(AttributeSites, FindObjectsThatPutThemselvesIntoAContainer) {
    PythonScript script(kSource);
    const struct {
        const char* item;
        bool puts_itself;
    } cases[] = {
        {"View", true},
        {"Derived", true},
        {"Use", true},
        {"Nested", true},
        {"Child", false},
        {"Parent", false},
        {"Own", false},
        {"Leaves", false},
        {"OtherList", false},
    };
    capture::AttributeSites sites;
    for (int pass = 0; pass < 2; ++pass) {  // the second one uses the cache
        for (const auto& expected : cases) {
            auto* const item = reinterpret_cast<PyTypeObject*>(script[expected.item]);
            EXPECT_EQ(sites.puts_itself_into("observers", item), expected.puts_itself)
                << expected.item;
        }
    }
}

}  // namespace
}  // namespace cyclewatch::test
