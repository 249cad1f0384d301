// SPDX-License-Identifier: Apache-2.0
#include "compat/frame_access.h"

#include <gtest/gtest.h>

#include <string>

#include "compat/object_layout.h"
#include "support/embedded_python.h"

namespace cyclewatch::test {
namespace {

int append_slot(const cyclewatch_frame_reference* reference, void* arg) {
    auto& text = *static_cast<std::string*>(arg);
    if (reference->slot == CYCLEWATCH_SLOT_LOCAL) {
        text += PyUnicode_AsUTF8(reference->name);
    } else if (reference->slot == CYCLEWATCH_SLOT_STACK) {
        text += "#" + std::to_string(reference->index);
    } else if (std::string(reference->member) == "yield_from") {
        text += "yield_from";
    } else {
        return 0;
    }
    text += " ";
    return 0;
}

std::string variables_of(PyObject* generator) {
    std::string text;
    cyclewatch_visit_generator(generator, append_slot, &text);
    return text;
}

constexpr const char* kGenerators = R"(
def steps(first, second=2):
    third = 3
    for item in [first, second]: yield third
def delegates():
    yield from steps(1)
def empty(): return; yield
fresh = steps(1)
suspended = steps(1); next(suspended)
finished = empty(); list(finished)
delegating = delegates(); next(delegating)
running_seen = []
def running():
    look(); yield
)";

TEST(FrameAccess, GeneratorsInEveryState) {
    PythonScript script(kGenerators);
    EXPECT_EQ(variables_of(script["fresh"]), "first second ");
    EXPECT_EQ(variables_of(script["suspended"]), "first second third item #0 ");
    EXPECT_EQ(variables_of(script["finished"]), "");
    EXPECT_EQ(variables_of(script["delegating"]), "yield_from ");
}

#if PY_VERSION_HEX < 0x030E0000  // later, the struct is internal
// The field is uninitialised memory in a plain generator.
TEST(FrameAccess, APlainGeneratorHasNoFinalizer) {
    PythonScript script(kGenerators);
    auto* const generator = reinterpret_cast<PyGenObject*>(script["suspended"]);
    generator->gi_origin_or_finalizer = script["fresh"];
    bool seen = false;
    cyclewatch_visit_generator(
        script["suspended"],
        [](const cyclewatch_frame_reference* reference, void* arg) {
            *static_cast<bool*>(arg) |= reference->slot == CYCLEWATCH_SLOT_MEMBER &&
                                        std::string(reference->member) == "finalizer";
            return 0;
        },
        &seen);
    generator->gi_origin_or_finalizer = nullptr;
    EXPECT_FALSE(seen);
}
#endif

TEST(FrameAccess, GeneratorsHaveAPositionUntilTheyFinish) {
    PythonScript script(kGenerators);
    EXPECT_EQ(cyclewatch_generator_position(script["finished"]).line, 0);
    EXPECT_EQ(cyclewatch_generator_position(script["suspended"]).line, 4);
    EXPECT_EQ(cyclewatch_generator_position(script["suspended"]).globals, script.names());
}

TEST(FrameAccess, RunningFramesOwnNoVariables) {
    PythonScript script(R"(
import sys
def function(local): return sys._getframe(), visit(sys._getframe())
)");
    static std::string seen;
    seen = "not called";
    static PyMethodDef visit{"visit",
                             [](PyObject*, PyObject* frame) -> PyObject* {
                                 seen.clear();
                                 cyclewatch_visit_frame(frame, append_slot, &seen);
                                 Py_RETURN_NONE;
                             },
                             METH_O,
                             nullptr};
    PyObject* function = PyCFunction_New(&visit, nullptr);
    PyDict_SetItemString(script.names(), "visit", function);
    Py_DECREF(function);
    PyObject* result = script.eval("function([])");
    EXPECT_EQ(seen, "") << "the thread owns the variables of a running function";
    seen.clear();
    cyclewatch_visit_frame(PyTuple_GET_ITEM(result, 0), append_slot, &seen);
    EXPECT_EQ(seen, "local ") << "the frame object owns the variables after the return";
}

TEST(FrameAccess, UnreliableLayoutsAreNotUsed) {
    PythonScript script(kGenerators);
    cyclewatch_unreliable_layouts = CYCLEWATCH_LAYOUT_GENERATORS;
    EXPECT_EQ(variables_of(script["suspended"]), "");
    cyclewatch_unreliable_layouts = 0;
}

}  // namespace
}  // namespace cyclewatch::test
