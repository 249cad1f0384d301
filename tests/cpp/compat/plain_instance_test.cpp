// SPDX-License-Identifier: Apache-2.0
#include "compat/plain_instance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "python/type_traversal.h"
#include "support/embedded_python.h"

namespace cyclewatch::test {
namespace {

using Visited = std::vector<PyObject*>;

int remember(PyObject* target, void* visited) {
    static_cast<Visited*>(visited)->push_back(target);
    return 0;
}

Visited sorted(Visited visited) {
    std::ranges::sort(visited);
    return visited;
}

Visited by_traverse(PyObject* object) {
    Visited visited;
    Py_TYPE(object)->tp_traverse(object, remember, &visited);
    return sorted(visited);
}

Visited by_traversal(PyObject* object) {
    Visited visited;
    python::TypeTraversal(Py_TYPE(object)).visit<remember>(object, &visited);
    std::erase(visited, nullptr);
    return sorted(visited);
}

class PlainInstance : public ::testing::Test {
  protected:
    PlainInstance()
        : script_(
              "class Bare: __slots__ = ()\n"
              "class Slots: __slots__ = ('a', 'b', '__weakref__')\n"
              "class More(Slots): __slots__ = ('c',)\n"
              "class Dict: pass\n"
              "class Both(Slots): pass\n"
              "class Named(Slots): __slots__ = ('__dict__',)\n"
              "class Wide: __slots__ = tuple(f'slot{i}' for i in range(40))\n"
              "class List(list): __slots__ = ('a',)\n"
              "class Meta(type): pass\n"
              "def made(cls, *names):\n"
              "    instance = cls()\n"
              "    for name in names: setattr(instance, name, [name])\n"
              "    return instance\n"
              "def with_dict(instance):\n"
              "    instance.__dict__\n"
              "    return instance\n"
              "def raised(error):\n"
              "    try: raise error from KeyError('a')\n"
              "    except Exception: return error\n"
              "class OwnError(ValueError): pass\n"
              "def frame_of(a, b=(), *, c=[]):\n"
              "    def inner(): return a, b\n"
              "    text = [inner, (yield)]\n"
              "def with_hole():\n"
              "    numbers = set(range(30))\n"
              "    numbers.difference_update(range(5, 20))\n"
              "    return numbers\n"
              "running = frame_of([])\n"
              "next(running)\n"
              "import sys\n") {
        cw_learn_plain_instances(reinterpret_cast<PyTypeObject*>(script_["Dict"]));
    }

    bool is_plain(const char* type) {
        cw_plain_layout layout;
        return cw_plain_layout_of(reinterpret_cast<PyTypeObject*>(script_[type]), &layout) != 0;
    }

    PythonScript script_;
};

TEST_F(PlainInstance, ExcludesOtherLayouts) {
    EXPECT_TRUE(is_plain("Slots"));
    EXPECT_TRUE(is_plain("More"));
    EXPECT_FALSE(is_plain("Wide"));
    EXPECT_FALSE(is_plain("List"));
    EXPECT_FALSE(is_plain("Meta"));
}

TEST_F(PlainInstance, VisitsTheSameReferencesAsTraverse) {
    for (const char* instance : {"made(Slots)",
                                 "made(Slots, 'b')",
                                 "made(Slots, 'a', 'b')",
                                 "made(More, 'a', 'c')",
                                 "made(Dict)",
                                 "made(Dict, 'x', 'y', 'z')",
                                 "with_dict(made(Dict, 'x', 'y'))",
                                 "made(Both, 'a', 'x')",
                                 "with_dict(made(Both, 'a', 'x'))",
                                 "made(Named, 'a', 'x')",
                                 "made(Wide, 'slot3', 'slot39')",
                                 "made(List, 'a')",
                                 "Meta('Made', (), {'x': 1})",
                                 "[1, [2]]",
                                 "()",
                                 "(1, [2], 'three')",
                                 "raised(ValueError('a', []))",
                                 "raised(OSError(2, 'a', 'b'))",
                                 "raised(OwnError('a'))",
                                 "StopIteration([])",
                                 "raised(ValueError()).__traceback__",
                                 "raised(ValueError()).__traceback__.tb_frame",
                                 "[].append",
                                 "set()",
                                 "frozenset({'a', made, 3.5})",
                                 "{(i, i) for i in range(20)}",
                                 "with_hole()",
                                 "running",
                                 "running.gi_frame",
                                 "sys._getframe()",
                                 "type('Made', (), {'f': made})().f",
                                 "(lambda cell: (lambda: cell))([]).__closure__[0]",
                                 "made"}) {
        PyObject* const object = script_.eval(instance);
        EXPECT_EQ(by_traversal(object), by_traverse(object)) << instance;
    }
}

TEST_F(PlainInstance, ObjectsWithoutGcHeaderAreNotVisited) {
    EXPECT_EQ(by_traversal(script_.eval("'text'")), Visited());
}

}  // namespace
}  // namespace cyclewatch::test
