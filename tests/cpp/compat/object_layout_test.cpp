// SPDX-License-Identifier: Apache-2.0
#include "compat/object_layout.h"

#include <gtest/gtest.h>

#include <string>

#include "compat/layout_switches.h"
#include "support/embedded_python.h"

namespace cyclewatch::test {
namespace {

int append_name(PyObject* name, PyObject*, void* arg) {
    static_cast<std::string*>(arg)->append(PyUnicode_AsUTF8(name)).append(" ");
    return 0;
}

std::string attribute_names(PyObject* object) {
    std::string names;
    cyclewatch_visit_attribute_values(object, append_name, &names);
    return names;
}

constexpr const char* kThings = R"(
class Thing: pass
plain, opened, deleted = Thing(), Thing(), Thing()
plain.first = plain.second = []
opened.first = []
opened_dict = opened.__dict__
deleted.first, deleted.second = [], []
del deleted.first
class Slotted: __slots__ = ('left', 'right')
slotted = Slotted(); slotted.right = []
class Var(tuple): pass
var = Var((1, 2, 3)); var.mark = []
class Number(int): pass
number = Number(1 << 200); number.mark = []
)";

TEST(ObjectLayout, AttributeValuesHaveNames) {
    PythonScript script(kThings);
    EXPECT_EQ(attribute_names(script["plain"]), "first second ");
    EXPECT_EQ(attribute_names(script["deleted"]), "second ");
    EXPECT_EQ(attribute_names(script["slotted"]), "");
}

TEST(ObjectLayout, FindsAnExistingDict) {
    PythonScript script(kThings);
    EXPECT_EQ(cyclewatch_existing_dict(script["opened"]), script["opened_dict"]);
    for (const char* name : {"var", "number"}) {
        PyObject* dict = script.eval(std::string(name) + ".__dict__");
        EXPECT_EQ(cyclewatch_existing_dict(script[name]), dict) << name;
    }
}

TEST(ObjectLayout, DictsThatBorrowValuesDoNotVisitThem) {
    PythonScript script(kThings);
    PyObject* dict = script["opened_dict"];
    bool visits_value = false;
    Py_TYPE(dict)->tp_traverse(
        dict,
        [](PyObject* referent, void* arg) {
            *static_cast<bool*>(arg) |= PyList_Check(referent) != 0;
            return 0;
        },
        &visits_value);
    EXPECT_EQ(cyclewatch_dict_borrows_values(dict) == 0, visits_value);
}

TEST(ObjectLayout, UnreliableLayoutsAreNotUsed) {
    PythonScript script(kThings);
    cyclewatch_unreliable_layouts =
        CYCLEWATCH_LAYOUT_INLINE_VALUES | CYCLEWATCH_LAYOUT_INSTANCE_DICT;
    EXPECT_EQ(attribute_names(script["plain"]), "");
    EXPECT_EQ(cyclewatch_existing_dict(script["opened"]), nullptr);
    cyclewatch_unreliable_layouts = 0;
}

}  // namespace
}  // namespace cyclewatch::test
