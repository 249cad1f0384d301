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
class Plain: pass
figure, resource, door, plain, builtin = Figure(), Resource(), Door(), Plain(), []
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
}

}  // namespace
}  // namespace cyclewatch::test
