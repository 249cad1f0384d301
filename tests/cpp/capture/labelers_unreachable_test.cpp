// SPDX-License-Identifier: Apache-2.0
// The place labelers are made for: inside the collector, on unreachable objects. A collection
// during which they were all named must come to the same result as one during which nothing
// happened.
#include <gtest/gtest.h>

#include <vector>

#include "capture/labelers_support.h"
#include "capture/object_summary.h"
#include "support/embedded_python.h"

namespace cyclewatch::test {
namespace {

constexpr const char* kGarbage = R"(
import functools, gc, weakref

class Engine:
    # All attributes at once: shared keys do not grow once there are many instances, and an
    # attribute that has no place among them brings the __dict__ into being.
    def __init__(self):
        self.peer = self.bound = self.table = self.partial = self.closure = None
        self.slotted = self.steps = self.error = None
    def run(self): yield self
class Slotted:
    __slots__ = ('peer', '__weakref__')

def fail(held):
    raise ValueError(held)

def make(callback):
    engines = [Engine() for _ in range(50)]
    for engine, peer in zip(engines, engines[1:] + engines[:1]):
        engine.peer, engine.bound, engine.table = peer, peer.run, {'self': engine}
        engine.partial = functools.partial(print, engine, key=peer)
        engine.closure = lambda: engine
        engine.slotted = Slotted(); engine.slotted.peer = peer
        engine.steps = engine.run()  # a suspended one would open the cycle itself, on closing
        try: fail(engine)
        except ValueError as error: engine.error = error
    watched = weakref.ref(engines[0], callback)
    return watched, [id(part) for engine in engines for part in (engine, engine.slotted)]

gc.disable()
)";

std::vector<PyObject*> g_unreachable;
std::size_t g_names = 0;

PyObject* name_all(PyObject*, PyObject*) {
    for (PyObject* object : g_unreachable) {
        g_names += references_of(object).size();
        parts_of(object);
        static_cast<void>(capture::summarize(object));
    }
    Py_RETURN_NONE;
}

PyObject* do_nothing(PyObject*, PyObject*) {
    Py_RETURN_NONE;
}

struct Collected {
    Py_ssize_t first = 0;
    Py_ssize_t second = 0;
};

// Makes the garbage, lets `callback` run inside its collection, collects once more.
Collected collect_with(PyCFunction callback) {
    PyGC_Collect();  // the script switches automatic collection off
    PythonScript script(kGarbage);
    PyMethodDef method{"callback", callback, METH_O, nullptr};
    PyObject* function = PyCFunction_New(&method, nullptr);
    PyDict_SetItemString(script.names(), "callback", function);
    Py_DECREF(function);
    PyObject* ids = PyTuple_GET_ITEM(script.eval("make(callback)"), 1);
    g_unreachable.clear();
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(ids); ++i) {
        auto* object = static_cast<PyObject*>(PyLong_AsVoidPtr(PyList_GET_ITEM(ids, i)));
        g_unreachable.push_back(object);
        for (PyObject* referent : referents_of(object)) {
            if (PyObject_IS_GC(referent) != 0 && !PyType_Check(referent)) {
                g_unreachable.push_back(referent);
            }
        }
    }
    PyGC_Enable();
    return {PyGC_Collect(), PyGC_Collect()};
}

TEST(LabelersOnUnreachable, TheCollectionComesToTheSame) {
    start_python();
    collect_with(do_nothing);  // imports leave garbage of their own the first time
    const Collected expected = collect_with(do_nothing);
    ASSERT_GT(expected.first, 400);
    EXPECT_EQ(expected.second, 0);
    g_names = 0;
    const Collected collected = collect_with(name_all);
    EXPECT_GT(g_names, 1000U) << "the callback did not run, or ran on nothing";
    EXPECT_EQ(collected.first, expected.first);
    EXPECT_EQ(collected.second, 0) << "something survived the first collection";
}

}  // namespace
}  // namespace cyclewatch::test
