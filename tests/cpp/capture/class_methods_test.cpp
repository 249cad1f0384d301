// SPDX-License-Identifier: Apache-2.0
#include "capture/class_methods.h"
#include "support/embedded_python.h"

#include <gtest/gtest.h>
#include <string>

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

constexpr const char* kEndMethods = R"(
class Resource:
    def __exit__(self, *error): pass
    def stop(self): pass
class Figure(Resource):
    def close(self): pass
class Door:
    close = True
class Pool:
    def close(self, timeout=None): self.workers = None
class Bus:
    def stop(self): self.handlers.clear()
class Candle:
    def close(self): return 12.5
class Shop:
    def close(self, door): self.door = None
class Session:
    def __exit__(self, *error): pass
class Plain: pass
figure, resource, door, plain, builtin = Figure(), Resource(), Door(), Plain(), []
pool, bus, candle, shop, session = Pool(), Bus(), Candle(), Shop(), Session()
)";

TEST(EndMethod, IsTheFirstNameDefinedAsAFunctionByTheClassOrABase) {
    PythonScript script(kEndMethods);
    const auto name_of = [&](const char* variable) {
        return std::string(capture::find_end_method(Py_TYPE(script[variable])).name);
    };
    EXPECT_EQ(name_of("figure"), "close");
    EXPECT_EQ(name_of("resource"), "stop");
    EXPECT_EQ(name_of("door"), "");
    EXPECT_EQ(name_of("plain"), "");
    EXPECT_EQ(name_of("builtin"), "");
    EXPECT_EQ(name_of("session"), "__exit__");
}

TEST(EndMethod, NeedsNoArgumentsAndClearsSomethingUnlessTheClassIsAContextManager) {
    PythonScript script(kEndMethods);
    const auto name_of = [&](const char* variable) {
        return std::string(capture::find_end_method(Py_TYPE(script[variable])).name);
    };
    EXPECT_EQ(name_of("pool"), "close");
    EXPECT_EQ(name_of("bus"), "stop");
    EXPECT_EQ(name_of("candle"), "");
    EXPECT_EQ(name_of("shop"), "");
}

}  // namespace
}  // namespace cyclewatch::test
