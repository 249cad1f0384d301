// SPDX-License-Identifier: Apache-2.0
// Labels unreachable objects inside the collector. The result of the collection must be the same as
// without labelling.
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
    # Assigns all attributes at once, because an attribute that is not in the shared keys creates
    # the __dict__ if there are many instances.
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
        engine.steps = engine.run()  # closing a suspended generator would break the cycle
        try: fail(engine)
        except ValueError as error: engine.error = error
    watched = weakref.ref(engines[0], callback)
    return watched, [id(part) for engine in engines for part in (engine, engine.slotted)]

gc.disable()
)";

std::vector<PyObject*> g_unreachable;
std::size_t g_labels = 0;

PyObject* label_all(PyObject*, PyObject*) {
    for (PyObject* object : g_unreachable) {
        g_labels += references_of(object).size();
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

// Collects the garbage with `callback` called inside the collection, then collects again.
Collected collect_with(PyCFunction callback) {
    PyGC_Collect();  // the script disables automatic collection
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

TEST(LabelersOnUnreachable, DoNotChangeTheResultOfTheCollection) {
    start_python();
    collect_with(do_nothing);  // the first run also collects garbage of imports
    const Collected expected = collect_with(do_nothing);
    ASSERT_GT(expected.first, 400);
    EXPECT_EQ(expected.second, 0);
    g_labels = 0;
    const Collected collected = collect_with(label_all);
    EXPECT_GT(g_labels, 1000U) << "the callback did not run or had no objects";
    EXPECT_EQ(collected.first, expected.first);
    EXPECT_EQ(collected.second, 0) << "something survived the first collection";
}

}  // namespace
}  // namespace cyclewatch::test
