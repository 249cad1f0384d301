// SPDX-License-Identifier: Apache-2.0
#include "capture/end_method.h"

#include <gtest/gtest.h>

#include <string>

#include "support/embedded_python.h"

namespace cyclewatch::test {
namespace {

constexpr const char* kSource = R"(
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
    PythonScript script(kSource);
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
    PythonScript script(kSource);
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
