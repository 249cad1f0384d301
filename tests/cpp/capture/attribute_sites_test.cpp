// SPDX-License-Identifier: Apache-2.0
#include "capture/attribute_sites.h"
#include "capture/class_methods.h"
#include "capture/stored_callables.h"
#include "support/embedded_python.h"

#include <gtest/gtest.h>
#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace cyclewatch::test {
namespace {

constexpr const char* kClasses = R"(
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
    PythonScript script(kClasses);
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

TEST(AttributeSites, NameTheBaseClassThatSetsTheAttribute) {
    PythonScript script(kClasses);
    capture::AttributeSites sites;
    const auto base_of = [&](const char* holder) {
        auto* const type = reinterpret_cast<PyTypeObject*>(script[holder]);
        return sites.find(type, "model", &PyBaseObject_Type, false).base;
    };
    EXPECT_EQ(base_of("View"), "");
    EXPECT_EQ(base_of("Derived").substr(base_of("Derived").rfind('.') + 1), "View");
}

// The location of callables stored in objects.

// A library helper that patches a class of another module.
constexpr std::string_view kHelper = R"(import functools
from functools import partial

class Registry:
    def register(self, model, name):
        setattr(model, name, partial(self.trigger, model))
        setattr(model, 'may_' + name, partial(self.may, model))
        return partial(self.may, model)

    def trigger(self, model): pass
    def may(self, model): pass

def add_hook(module):
    old_forward = module.forward
    module.old_forward = old_forward
    def new_forward(module): pass
    if module is None:
        module.__class__.forward = functools.partial(new_forward, module)
    else:
        module.forward = functools.partial(new_forward, module)
    return module

def remove_hook(module):
    module.forward = module.old_forward

def add_part(module, part):
    module.part = part

def replace_part(module, part):
    module.part = part

def make_step(model):
    def step(): return model
    object.__setattr__(model, 'step', step)
    return model
)";

class StoredCallablesTest : public ::testing::Test {
  protected:
    static std::uint32_t line_of(std::string_view text) {
        const std::size_t at = kHelper.find(text);
        return at == std::string_view::npos
                   ? 0
                   : static_cast<std::uint32_t>(
                         std::count(kHelper.begin(), kHelper.begin() + at, '\n') + 1);
    }
    std::uint32_t outside(PyObject* model, const char* name) {
        const std::array<PyObject*, 1> modules{helper_globals()};
        PyObject* const value = PyObject_GetAttrString(model, name);
        capture::AttributeSites sites;
        const std::uint32_t line = sites.find_outside(Py_TYPE(model), name, value, modules).line;
        Py_XDECREF(value);
        return line;
    }
    PyObject* helper_globals() { return PyFunction_GET_GLOBALS(helper_["add_hook"]); }
    PyObject* call(const char* function, const char* model) {
        return PyObject_CallOneArg(helper_[function], user_[model]);
    }

    PythonScript helper_{std::string(kHelper), "helper", "/samples/helper.py"};
    PythonScript user_{R"(
class Model:
    def forward(self): pass
patched, stepped, plain = Model(), Model(), Model()
plain.part = Model()
)"};
};

TEST_F(StoredCallablesTest, AttributesHaveTheLineOfTheHelperThatStoresThem) {
    Py_XDECREF(call("add_hook", "patched"));
    EXPECT_EQ(outside(user_["patched"], "forward"), line_of("module.forward = functools"));
    EXPECT_EQ(outside(user_["patched"], "old_forward"), line_of("module.old_forward = old"));
    Py_XDECREF(call("make_step", "stepped"));
    EXPECT_EQ(outside(user_["stepped"], "step"), line_of("object.__setattr__"));
    EXPECT_EQ(outside(user_["plain"], "part"), 0U) << "two lines store it";
}

TEST_F(StoredCallablesTest, PartialsHaveTheLineThatCreatesThem) {
    Py_XDECREF(call("add_hook", "patched"));
    const capture::CallableSite trigger =
        capture::site_of_partial(helper_.eval("partial(Registry().trigger, 1)"));
    EXPECT_EQ(trigger.line, line_of("partial(self.trigger"));
    EXPECT_EQ(trigger.path, "/samples/helper.py");
    EXPECT_TRUE(trigger.is_creation);
    EXPECT_EQ(capture::site_of_partial(user_.eval("patched.forward")).is_creation, false)
        << "two lines create it";
    EXPECT_EQ(capture::site_of_partial(user_.eval("patched.forward")).line,
              line_of("def new_forward"));
    EXPECT_EQ(capture::site_of_partial(helper_.eval("partial(Registry().may)")).line,
              line_of("def may"));
    EXPECT_EQ(capture::site_of_partial(helper_.eval("partial(print)")).line, 0U);
}

constexpr const char* kCreators = R"(
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
    PythonScript script(kCreators);
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

// The method is defined by the class or a base. Unless the class is a context manager, the method
// needs no arguments and clears something.
TEST(EndMethod, IsTheFirstSuitableName) {
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
    EXPECT_EQ(name_of("pool"), "close");
    EXPECT_EQ(name_of("bus"), "stop");
    EXPECT_EQ(name_of("candle"), "");
    EXPECT_EQ(name_of("shop"), "");
}

}  // namespace
}  // namespace cyclewatch::test
