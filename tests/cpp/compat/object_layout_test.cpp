// SPDX-License-Identifier: Apache-2.0
#include "compat/object_layout.h"
#include "compat/features.h"
#include "compat/getter_fields.h"
#include "compat/native_members.h"
#include "compat/plain_instance.h"
#include "python/guards.h"
#include "python/references.h"
#include "python/stop_the_world.h"
#include "python/type_traversal.h"
#include "support/embedded_python.h"

#include <gtest/gtest.h>
#include <algorithm>
#include <cstring>
#include <future>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

namespace cyclewatch::test {
namespace {

using Visited = std::vector<PyObject*>;

// Required by binary search.
TEST(NativeMembers, TableIsSorted) {
    std::size_t count = 0;
    const cyclewatch_native_member* members = cyclewatch_all_native_members(&count);
    ASSERT_GT(count, 0U);
    for (std::size_t i = 1; i < count; ++i) {
        const auto key = [&](std::size_t row) {
            return std::tuple(std::string(members[row].type), members[row].word);
        };
        EXPECT_LT(key(i - 1), key(i));
    }
}

TEST(NativeMembers, FindsAllRowsOfAType) {
    std::size_t count = 0;
    const cyclewatch_native_member* members = cyclewatch_native_members_of("filter", &count);
    ASSERT_EQ(count, 2U);
    EXPECT_STREQ(members[0].name, "function");
    EXPECT_STREQ(members[1].name, "iterator");
    EXPECT_EQ(cyclewatch_native_members_of("no such type", &count), nullptr);
    EXPECT_EQ(count, 0U);
}

// Getters that are recognized as returning a field, given their machine code from published wheels.

#if defined(__x86_64__)

// Code is data here: it is read and never run.
Py_ssize_t field_of(const std::vector<unsigned char>& code) {
    const unsigned char* const start = code.data();
    getter get = nullptr;
    std::memcpy(&get, &start, sizeof(get));
    return cyclewatch_field_of_getter(get);
}

TEST(GetterFields, KnowsWhatCythonWrites) {
    // pandas 1.5 for 3.11: mov rax, [rdi + 0x18]; add qword [rax], 1; ret
    EXPECT_EQ(field_of({0x48, 0x8b, 0x47, 0x18, 0x48, 0x83, 0x00, 0x01, 0xc3}), 0x18);
    // netCDF4 for 3.11, which increments and decrements self's reference count
    EXPECT_EQ(field_of({0x53, 0x48, 0x8b, 0x9f, 0x80, 0x00, 0x00, 0x00, 0x48,
                        0x83, 0x07, 0x01, 0x48, 0x83, 0x03, 0x01, 0x48, 0x83,
                        0x2f, 0x01, 0x74, 0x0a, 0x48, 0x89, 0xd8, 0x5b, 0xc3}),
              0x80);
    // numpy for 3.11, which loads the field again
    EXPECT_EQ(
        field_of({0x48, 0x8b, 0x47, 0x10, 0x48, 0x83, 0x00, 0x01, 0x48, 0x8b, 0x47, 0x10, 0xc3}),
        0x10);
    // Cython 3 at -O1 for 3.11: self's reference count is updated in rax
    EXPECT_EQ(field_of({0x53, 0x48, 0x83, 0x07, 0x01, 0x48, 0x8b, 0x47, 0x18, 0x48, 0x83, 0x00,
                        0x01, 0x48, 0x8b, 0x5f, 0x18, 0x48, 0x8b, 0x07, 0x48, 0x83, 0xe8, 0x01,
                        0x48, 0x89, 0x07, 0x74, 0x05, 0x48, 0x89, 0xd8, 0x5b, 0xc3}),
              0x18);
    // lxml for 3.12 and 3.14, which do not count references to immortal objects
    EXPECT_EQ(field_of({0x48,
                        0x8b,
                        0x57,
                        0x20,
                        0x8b,
                        0x02,
                        0x83,
                        0xc0,
                        0x01,
                        0x74,
                        0x02,
                        0x89,
                        0x02,
                        0x48,
                        0x89,
                        0xd0,
                        0xc3}),
              0x20);
    EXPECT_EQ(field_of({0x48, 0x8b, 0x57, 0x10, 0x8b, 0x02, 0x3d, 0xff, 0xff, 0xff, 0xbf,
                        0x77, 0x05, 0x83, 0xc0, 0x01, 0x89, 0x02, 0x48, 0x89, 0xd0, 0xc3}),
              0x10);
}

TEST(GetterFields, NamesNothingElse) {
    // A number: sub rsp, 0x18; mov rdi, [rdi + 0x18]; call ...
    EXPECT_EQ(field_of({0x48, 0x83, 0xec, 0x18, 0x48, 0x8b, 0x7f, 0x18, 0xe8}), 0);
    // A field of a field: mov rax, [rdi + 0x18]; mov rax, [rax + 0x20]; ret
    EXPECT_EQ(field_of({0x48, 0x8b, 0x47, 0x18, 0x48, 0x8b, 0x40, 0x20, 0xc3}), 0);
    // Two fields, of which the second is returned.
    EXPECT_EQ(field_of({0x48, 0x8b, 0x57, 0x18, 0x48, 0x8b, 0x47, 0x20, 0xc3}), 0);
    // The result is not a field: mov rdx, [rdi + 0x20]; mov eax, [rdx]; ret
    EXPECT_EQ(field_of({0x48, 0x8b, 0x57, 0x20, 0x8b, 0x02, 0xc3}), 0);
    EXPECT_EQ(field_of({0xc3}), 0);
    EXPECT_EQ(cyclewatch_field_of_getter(nullptr), 0);
}

#endif

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

bool is_nested(PyObject* function) {
    const auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GetCode(function));
    return (code->co_flags & CO_NESTED) != 0;
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
              "    text = [[], (yield)]\n"
              "def borrowing():\n"
              "    def only_here(): pass\n"
              "    text = [only_here, (yield)]\n"
              "def with_hole():\n"
              "    numbers = set(range(30))\n"
              "    numbers.difference_update(range(5, 20))\n"
              "    return numbers\n"
              "def dict_with_holes(keys):\n"
              "    numbers = {key: [key] for key in keys}\n"
              "    for key in list(numbers)[::3]: del numbers[key]\n"
              "    return numbers\n"
              "class DictOfOwn(dict): pass\n"
              "running = frame_of([])\n"
              "next(running)\n"
              "suspended = borrowing()\n"
              "next(suspended)\n"
              "import sys\n") {
        cw_learn_plain_instances(reinterpret_cast<PyTypeObject*>(script_["Dict"]));
    }

    PythonScript script_;
};

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
                                 "{}",
                                 "{'a': 1, 'b': [2], 'c': made}",
                                 "{made: 1, ('b',): [2]}",
                                 "{'a': [1], made: [2]}",
                                 "dict_with_holes('abcdefg')",
                                 "dict_with_holes(range(9))",
                                 "dict_with_holes([str(i) for i in range(300)])",
                                 "made(Dict, 'x', 'y').__dict__",
                                 "DictOfOwn(a=[1])",
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

// From 3.14 on, the operand stack of a generator may borrow the value of a variable;
// tp_traverse also visits that borrowed reference.
TEST_F(PlainInstance, VisitsOwnedReferencesOfGeneratorsOnly) {
    const Visited visited = by_traversal(script_.eval("suspended"));
    const auto function = std::ranges::find_if(
        visited, [](PyObject* target) { return PyFunction_Check(target) && is_nested(target); });
    ASSERT_NE(function, visited.end());
    const auto visits = std::ranges::count(visited, *function);
    if (CYCLEWATCH_LAYOUTS_KNOWN == 0 && CYCLEWATCH_GENERATORS_MAY_BORROW) {
        EXPECT_EQ(visits, 1);  // cyclewatch_counted_traverse()
    } else {
        EXPECT_EQ(visits, Py_REFCNT(*function));
    }
}

bool is_dead(const python::OwnedRef& weakref) {
    bool dead = false;
    python::with_world_stopped([&] { dead = cyclewatch_weakref_is_dead(weakref.get()) != 0; });
    return dead;
}

class WeakReference : public ::testing::Test {
  protected:
    PyObject* make_object() { return PyObject_CallNoArgs(script_["Sample"]); }

  private:
    PythonScript script_{"class Sample: pass"};
};

// On free-threaded builds, a blocked thread cannot free the objects that only it may free.
TEST_F(WeakReference, IsDeadIfItsObjectIsQueuedForItsThread) {
    PyObject* object = nullptr;
    std::promise<void> made;
    std::promise<void> over;
    std::thread maker([&] {
        const PyGILState_STATE state = PyGILState_Ensure();
        object = make_object();
        {
            const python::GilRelease release;
            made.set_value();
            over.get_future().wait();
        }
        PyGILState_Release(state);
    });
    {
        const python::GilRelease release;
        made.get_future().wait();
    }
    const python::OwnedRef weakref = python::steal(PyWeakref_NewRef(object, nullptr));
    {
        const python::OwnedRef other = python::borrow(object);
        EXPECT_FALSE(is_dead(weakref));
        static_cast<void>(python::steal(object));  // the maker's, dropped here
        EXPECT_FALSE(is_dead(weakref));
    }
    EXPECT_TRUE(is_dead(weakref));
    over.set_value();
    const python::GilRelease release;
    maker.join();
}

}  // namespace
}  // namespace cyclewatch::test
