// SPDX-License-Identifier: Apache-2.0
// Dicts created by locals(), and similar dicts.
#include "capture/locals_snapshot.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/embedded_python.h"

namespace cyclewatch::test {
namespace {

constexpr const char* kFrames = R"(
class Base:
    def learn(self, steps, callback=None, *rest, **options):
        iteration = 0
        captured = lambda: (self, iteration)
        return locals()

class Learner(Base):
    def learn(self, steps, callback=None, *rest, **options):
        return super().learn(steps, callback, *rest, **options)

    def rollout(self, env):
        buffer, values = [], {}
        return locals()

    @classmethod
    def make(cls, first, second):
        return locals()

class Trainer:
    def fit(self, loader):
        epoch = 1
        return locals()

class Short:
    def __init__(this):
        this.saved = locals()

def build(model, steps=1):
    return locals()

learner = Learner()
short = Short().saved
built = build(learner)
unlike = {'model': learner, 'other': 1}
learned = learner.learn(1)
updated = {**learned, **learner.rollout(2)}
made = Learner.make(1, 2)
extended = {**Trainer().fit([]), 'extra': 1, 'more': 2}
reordered = {'loader': [], 'self': Trainer(), 'epoch': 1}
incomplete = {'self': Trainer(), 'epoch': 1, 'unknown': 2}
keyed = {'self': Trainer(), 'loader': [], 'two words': 2}
plain = {'self': learner}
)";

std::string name_of(PyObject* dict, PyObject* module = nullptr) {
    capture::LocalsSnapshots snapshots;
    const std::vector<PyObject*> modules(module == nullptr ? 0 : 1, module);
    const auto found = snapshots.function_of(dict, modules);
    return found ? found->name : "none";
}

TEST(LocalsSnapshot, IsNamedAfterTheFunctionOfItsVariables) {
    PythonScript script(kFrames);
    EXPECT_EQ(name_of(script["learned"]), "sample.Base.learn") << "it has `iteration`";
    EXPECT_EQ(name_of(script["made"]), "sample.Learner.make");
    EXPECT_EQ(name_of(script["updated"]), "sample.Base.learn");
    capture::LocalsSnapshots snapshots;
    const auto found = snapshots.function_of(script["learned"], {});
    ASSERT_TRUE(found);
    EXPECT_EQ(found->path, "/samples/sample.py");
    EXPECT_EQ(found->line, 6U) << "the only call of locals()";
}

TEST(LocalsSnapshot, NeedsFewKeysIfTheFunctionCallsLocals) {
    PythonScript script(kFrames);
    EXPECT_EQ(name_of(script["short"]), "sample.Short.__init__") << "`this` is the only key";
    PyObject* const module = PyFunction_GetGlobals(script["build"]);
    EXPECT_EQ(name_of(script["built"], module), "sample.build");
    EXPECT_EQ(name_of(script["built"]), "none") << "its module is not searched";
    EXPECT_EQ(name_of(script["unlike"], module), "none");
}

TEST(LocalsSnapshot, IsNotFoundForOtherDicts) {
    PythonScript script(kFrames);
    for (const char* other : {"extended", "reordered", "incomplete", "keyed", "plain"}) {
        EXPECT_EQ(name_of(script[other]), "none") << other;
    }
    EXPECT_EQ(name_of(script.eval("{}")), "none");
    EXPECT_EQ(name_of(script.eval("{'self': 1, 'a': 2, 'b': 3}")), "none");
}

}  // namespace
}  // namespace cyclewatch::test
