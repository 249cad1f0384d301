// SPDX-License-Identifier: Apache-2.0
#include "compat/operand_stack.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "support/embedded_python.h"

namespace cyclewatch::test {
namespace {

constexpr const char* kSource = R"(
def directly(self):
    return Part(self)

def by_variable(self, key):
    part = Part(key, whole=self)
    self.parts.append(part)
    return part

def made_when_missing(self, key):
    part = self.parts.get(key)
    if part is None:
        part = Part(self)
        self.parts[key] = part
    return part

def within_with(self):
    with self.lock:
        part = Part(self)
        return part
)";

// One text per call, such as "Part(self)": "self" if it is passed directly or in another call.
std::vector<std::string> calls_of(const char* name) {
    const PythonScript script(kSource);
    std::vector<std::string> calls;
    auto* const code = reinterpret_cast<PyCodeObject*>(PyFunction_GetCode(script[name]));
    const auto note = [](const cyclewatch_operand* called, int /*offset*/, void* arg) {
        const std::string text = called->name == nullptr ? "?" : PyUnicode_AsUTF8(called->name);
        static_cast<std::vector<std::string>*>(arg)->push_back(
            text + (called->arguments % 2 != 0 ? "(self)" : "()"));
        return 0;
    };
    cyclewatch_visit_calls(code, note, &calls);
    return calls;
}

using Calls = std::vector<std::string>;

TEST(OperandStack, TracksPositionalAndKeywordArguments) {
    EXPECT_EQ(calls_of("directly"), Calls{"Part(self)"});
    EXPECT_EQ(calls_of("by_variable"), (Calls{"Part(self)", "append(self)"}));
}

TEST(OperandStack, TracksBranchesAndBlocks) {
    EXPECT_EQ(calls_of("made_when_missing"), (Calls{"get()", "Part(self)"}));
    const Calls calls = calls_of("within_with");
    EXPECT_EQ(std::count(calls.begin(), calls.end(), "Part(self)"), 1);
}

}  // namespace
}  // namespace cyclewatch::test
