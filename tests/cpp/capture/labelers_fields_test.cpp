// SPDX-License-Identifier: Apache-2.0
// Labels of C struct fields that are not declared in tp_members, as in Cython classes.
#include <gtest/gtest.h>
#include <structmember.h>

#include <cstddef>
#include <string>

#include "capture/labelers_support.h"
#include "support/embedded_python.h"

namespace cyclewatch::test {
namespace {

// As in Cython classes: object fields after a number. One of them is declared as a member.
struct Fields {
    PyObject_HEAD long number;
    PyObject* first;
    PyObject* second;
    PyObject* declared;
    PyObject* borrowed;  // not visited
};

int visit_fields(PyObject* object, visitproc visit, void* arg) {
    const auto* fields = reinterpret_cast<Fields*>(object);
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(fields->first);
    Py_VISIT(fields->second);
    Py_VISIT(fields->declared);
    return 0;
}

PyObject* type_of_fields() {
    static PyMemberDef members[] = {
        {"declared", T_OBJECT, offsetof(Fields, declared), READONLY, nullptr},
        {nullptr, 0, 0, 0, nullptr}};
    static PyType_Slot slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(visit_fields)},
                                  {Py_tp_members, members},
                                  {0, nullptr}};
    static PyType_Spec spec{"zoo.Fields",
                            sizeof(Fields),
                            0,
                            Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE,
                            slots};
    return PyType_FromSpec(&spec);
}

TEST(Fields, UndeclaredFieldsAreLabelledByOffset) {
    PythonScript script("held, other = [], []");
    PyObject* const type = type_of_fields();
    ASSERT_NE(type, nullptr);
    PyObject* const held = script["held"];
    PyObject* const object = PyObject_CallNoArgs(type);
    auto* const fields = reinterpret_cast<Fields*>(object);
    fields->first = fields->second = fields->declared = held;
    fields->borrowed = script["other"];
    std::string expected = "declared";
    for (const std::size_t offset : {offsetof(Fields, first), offsetof(Fields, second)}) {
        expected += " C field at offset " + std::to_string(offset);
    }
    EXPECT_EQ(labels_between(object, held), expected);
    EXPECT_EQ(labels_between(object, script["other"]), "");
    EXPECT_TRUE(unnamed_referents(object).empty());
    fields->first = fields->second = fields->declared = fields->borrowed = nullptr;
    Py_DECREF(object);
    Py_DECREF(type);
}

}  // namespace
}  // namespace cyclewatch::test
