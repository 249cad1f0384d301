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

class Iterating(Part):
    def __iter__(self):
        return self
    def __next__(self):
        raise StopIteration

class Other:
    pass

class MadeInTheConstructor:
    def __init__(self):
        self.part = Part(self)

class MadeInAComprehension:
    def grow(self):
        self.parts = [Part(self) for _ in range(3)]

class KeptWithin:
    def grow(self):
        part = Part(self)
        self.parts.append(part)

class MadeByAProperty:
    @property
    def part(self):
        if self.kept is None:
            self.kept = Part(self)
        return self.kept

class MadeByAWrappedMethod:
    @functools.lru_cache
    def part(self):
        return Part(self)

class Yielded:
    @contextlib.contextmanager
    def part(self):
        yield Part(self)

class Inherits(KeptWithin):
    pass

class MadeForAnother:
    def grow(self, other):
        return Part(other)

class MadeByClassMethod:
    @classmethod
    def grow(cls):
        return Part(cls)
)";

class CreatorSearchTest : public ::testing::Test {
  protected:
    PyTypeObject* type(const char* name) { return reinterpret_cast<PyTypeObject*>(script_[name]); }
    bool creates(const char* creator, const char* created) {
        return capture::creates(type(creator), type(created));
    }

  private:
    PythonScript script_{kSource};
};

TEST_F(CreatorSearchTest, MethodsThatCallTheClassWithTheirOwnObject) {
    for (const char* creator : {"MadeInTheConstructor",
                                "MadeInAComprehension",
                                "KeptWithin",
                                "MadeByAProperty",
                                "MadeByAWrappedMethod",
                                "Yielded",
                                "Inherits"}) {
        EXPECT_TRUE(creates(creator, "Part")) << creator;
    }
}

TEST_F(CreatorSearchTest, ASubclassCountsAsWhatItDerivesFrom) {
    EXPECT_TRUE(creates("KeptWithin", "Iterating"));
}

TEST_F(CreatorSearchTest, NothingIsClaimedAboutOtherCalls) {
    EXPECT_FALSE(creates("KeptWithin", "Other"));
    EXPECT_FALSE(creates("Other", "Part"));
    EXPECT_FALSE(creates("MadeForAnother", "Part"));
    EXPECT_FALSE(creates("MadeByClassMethod", "Part"));
}

}  // namespace
}  // namespace cyclewatch::test
