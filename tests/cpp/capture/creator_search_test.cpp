// SPDX-License-Identifier: Apache-2.0
#include "capture/creator_search.h"

#include <gtest/gtest.h>

#include "support/embedded_python.h"

namespace cyclewatch::test {
namespace {

constexpr const char* kSource = R"(
import contextlib, functools

class Part:
    def __init__(self, whole):
        self.whole = whole
class DerivedPart(Part):
    def __iter__(self):
        return self
class Other:
    pass

class Constructor:
    def __init__(self):
        self.part = Part(self)
class Comprehension:
    def grow(self):
        self.parts = [Part(self) for _ in range(3)]
class Local:
    def grow(self):
        part = Part(self)
        self.parts.append(part)
class Property:
    @property
    def part(self):
        if self.kept is None:
            self.kept = Part(self)
        return self.kept
class Wrapped:
    @functools.lru_cache
    def part(self):
        return Part(self)
class ContextManager:
    @contextlib.contextmanager
    def part(self):
        yield Part(self)
class Derived(Local):
    pass
class OtherArgument:
    def grow(self, other):
        return Part(other)
class ClassMethod:
    @classmethod
    def grow(cls):
        return Part(cls)
)";

TEST(CreatorSearch, FindsCallsOfTheClassWithTheCreatorAsAnArgument) {
    PythonScript script(kSource);
    const struct {
        const char* creator;
        const char* created;
        bool creates;
    } cases[] = {
        {"Constructor", "Part", true},
        {"Comprehension", "Part", true},
        {"Local", "Part", true},
        {"Property", "Part", true},
        {"Wrapped", "Part", true},
        {"ContextManager", "Part", true},
        {"Derived", "Part", true},
        {"Local", "DerivedPart", true},
        {"Local", "Other", false},
        {"Other", "Part", false},
        {"OtherArgument", "Part", false},
        {"ClassMethod", "Part", false},
    };
    for (const auto& expected : cases) {
        const auto type = [&](const char* name) {
            return reinterpret_cast<PyTypeObject*>(script[name]);
        };
        EXPECT_EQ(capture::creates(type(expected.creator), type(expected.created)),
                  expected.creates)
            << expected.creator << " " << expected.created;
    }
}

}  // namespace
}  // namespace cyclewatch::test
