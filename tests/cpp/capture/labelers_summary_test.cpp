// SPDX-License-Identifier: Apache-2.0
// The kind, name and location of objects.
#include <gtest/gtest.h>

#include <string>

#include "capture/object_summary.h"
#include "support/embedded_python.h"

namespace cyclewatch::test {
namespace {

using capture::ObjectSummary;
using capture::summarize;
using model::NodeKind;

std::string location(const ObjectSummary& summary) {
    return summary.path + ":" + std::to_string(summary.line);
}

TEST(Summary, FunctionsAreNamedAfterTheirCode) {
    PythonScript script(R"(
class Engine:
    def start(self):
        return lambda: self
function = Engine().start()
)",
                        "pkg.engine",
                        "/samples/engine.py");
    const ObjectSummary summary = summarize(script["function"]);
    EXPECT_EQ(summary.kind, NodeKind::function);
    EXPECT_EQ(summary.name, "pkg.engine.Engine.start.<locals>.<lambda>");
    EXPECT_EQ(summary.module, "pkg.engine");
    EXPECT_EQ(location(summary), "/samples/engine.py:4");
}

TEST(Summary, FramesAndGeneratorsHaveTheirCurrentLine) {
    PythonScript script(R"(
def fail():
    local = 1
    raise ValueError
try: fail()
except ValueError as caught: error = caught
traceback = error.__traceback__.tb_next
frame = traceback.tb_frame
def steps():
    yield 1
    yield 2
generator = steps(); next(generator); next(generator)
)");
    const ObjectSummary frame = summarize(script["frame"]);
    EXPECT_EQ(frame.kind, NodeKind::frame);
    EXPECT_EQ(frame.name, "sample.fail");
    EXPECT_EQ(location(frame), "/samples/sample.py:4");
    const ObjectSummary traceback = summarize(script["traceback"]);
    EXPECT_EQ(traceback.kind, NodeKind::traceback);
    EXPECT_EQ(traceback.name, "traceback");
    EXPECT_EQ(location(traceback), "/samples/sample.py:4");
    const ObjectSummary generator = summarize(script["generator"]);
    EXPECT_EQ(generator.kind, NodeKind::generator);
    EXPECT_EQ(generator.name, "sample.steps");
    EXPECT_EQ(location(generator), "/samples/sample.py:11");
}

TEST(Summary, TypesAndInstancesHaveTheLocationOfTheClass) {
    PythonScript script(R"(
def borrowed(self): pass
class Engine:
    elsewhere = borrowed
    @property
    def speed(self): return 1
    def start(self): pass
class Bare: pass
engine = Engine()
)");
    const ObjectSummary type = summarize(script["Engine"]);
    EXPECT_EQ(type.kind, NodeKind::type);
    EXPECT_EQ(type.name, "sample.Engine");
    EXPECT_EQ(type.module, "sample");
    const ObjectSummary instance = summarize(script["engine"]);
    EXPECT_EQ(instance.kind, NodeKind::object);
    EXPECT_EQ(instance.name, "sample.Engine");
    EXPECT_EQ(location(instance), location(type));
    EXPECT_EQ(type.path, "/samples/sample.py");
    // The class statement if __firstlineno__ exists, else the decorator of the first method.
    const bool has_first_line = PyDict_GetItemString(
        reinterpret_cast<PyTypeObject*>(script["Engine"])->tp_dict, "__firstlineno__");
    EXPECT_EQ(type.line, has_first_line ? 3U : 5U);
    EXPECT_EQ(summarize(script["Bare"]).path, "");
}

TEST(Summary, KindsAndNames) {
    PythonScript script(R"(
import collections, functools, types, weakref
class Thing:
    def method(self): pass
class OwnDict(dict): pass
class OwnPartial(functools.partial): pass
class OwnError(ValueError): pass
thing, own, own_partial, error = Thing(), OwnDict(), OwnPartial(print), OwnError()
cell = (lambda: thing).__closure__ or types.CellType(1)
def without_module(): pass
without_module.__module__ = 7
async def fetch(): pass
async def batches():
    yield 1
coroutine = fetch()
coroutine.close()
class Str(str): pass
class IntModule:
    __module__ = 7
class StrModule:
    __module__ = Str('not exact')
class Nested:
    class Inner: pass
)");
    const struct {
        const char* expression;
        NodeKind kind;
        const char* name;
    } cases[] = {
        {"{}", NodeKind::dict, "dict"},
        {"collections.OrderedDict()", NodeKind::dict, "collections.OrderedDict"},
        {"own", NodeKind::object, "sample.OwnDict"},
        {"[]", NodeKind::list, "list"},
        {"()", NodeKind::tuple, "tuple"},
        {"frozenset({1})", NodeKind::set, "frozenset"},
        {"cell", NodeKind::cell, "cell"},
        {"len", NodeKind::builtin_function, "len"},
        {"functools.reduce", NodeKind::builtin_function, "_functools.reduce"},
        {"[].remove", NodeKind::builtin_function, "list.remove"},
        {"own.update", NodeKind::builtin_function, "sample.OwnDict.update"},
        {"dict.fromkeys", NodeKind::builtin_function, "dict.fromkeys"},
        {"thing.method", NodeKind::bound_method, "sample.Thing.method"},
        {"types.MethodType(Thing, thing)", NodeKind::bound_method, "sample.Thing"},
        {"types.MethodType(own_partial, thing)", NodeKind::bound_method, "sample.OwnPartial"},
        {"own_partial", NodeKind::partial, "sample.OwnPartial"},
        {"error", NodeKind::exception, "sample.OwnError"},
        {"types.ModuleType('own')", NodeKind::module, "own"},
        {"weakref.ref(thing)", NodeKind::weakref, "weakref.ReferenceType"},
        {"Thing.method.__code__", NodeKind::code, "Thing.method"},
        {"property()", NodeKind::property, "property"},
        {"staticmethod(len)", NodeKind::property, "staticmethod"},
        {"collections.deque()", NodeKind::object, "collections.deque"},
        {"int", NodeKind::type, "int"},
        {"IntModule", NodeKind::type, "IntModule"},
        {"StrModule", NodeKind::type, "StrModule"},
        {"Nested.Inner()", NodeKind::object, "sample.Nested.Inner"},
        {"without_module", NodeKind::function, "sample.without_module"},
        {"coroutine", NodeKind::coroutine, nullptr},
        {"batches()", NodeKind::async_generator, "sample.batches"},
    };
    for (const auto& expected : cases) {
        const ObjectSummary summary = summarize(script.eval(expected.expression));
        EXPECT_EQ(summary.kind, expected.kind) << expected.expression;
        if (expected.name != nullptr) {
            EXPECT_EQ(summary.name, expected.name);
        }
    }
}

}  // namespace
}  // namespace cyclewatch::test
