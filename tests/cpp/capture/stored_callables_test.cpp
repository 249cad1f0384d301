// SPDX-License-Identifier: Apache-2.0
// The location of callables stored in objects.
#include "capture/stored_callables.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "capture/attribute_sites.h"
#include "support/embedded_python.h"

namespace cyclewatch::test {
namespace {

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

}  // namespace
}  // namespace cyclewatch::test
