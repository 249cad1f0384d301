// SPDX-License-Identifier: Apache-2.0
// What fields of C structs are called that no tp_members declares, as of classes of Cython.
#include <gtest/gtest.h>
#include <structmember.h>

#include <cstddef>
#include <string>

#include "capture/labelers_support.h"
#include "compat/getter_fields.h"
#include "support/embedded_python.h"

namespace cyclewatch::test {
namespace {

// As Cython makes them: fields behind a number, of which one is declared as a member.
struct Fields {
    PyObject_HEAD long number;
    PyObject* first;
    PyObject* second;
    PyObject* declared;
    PyObject* shown;
    PyObject* borrowed;  // not visited
};

// `cdef public object shown`
__attribute__((optimize("O2"))) PyObject* get_shown(PyObject* object, void* /*closure*/) {
    return Py_NewRef(reinterpret_cast<Fields*>(object)->shown);
}
// A property that runs code.
PyObject* get_computed(PyObject* object, void* /*closure*/) {
    return PyList_New(reinterpret_cast<Fields*>(object)->number);
}

int visit_fields(PyObject* object, visitproc visit, void* arg) {
    const auto* fields = reinterpret_cast<Fields*>(object);
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(fields->first);
    Py_VISIT(fields->second);
    Py_VISIT(fields->declared);
    Py_VISIT(fields->shown);
    return 0;
}

PyObject* type_of_fields() {
    static PyMemberDef members[] = {
        {"declared", T_OBJECT, offsetof(Fields, declared), READONLY, nullptr},
        {nullptr, 0, 0, 0, nullptr}};
    static PyGetSetDef getters[] = {{"computed", get_computed, nullptr, nullptr, nullptr},
                                    {"shown", get_shown, nullptr, nullptr, nullptr},
                                    {nullptr, nullptr, nullptr, nullptr, nullptr}};
    static PyType_Slot slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(visit_fields)},
                                  {Py_tp_getset, getters},
                                  {Py_tp_members, members},
                                  {0, nullptr}};
    static PyType_Spec spec{"zoo.Fields",
                            sizeof(Fields),
                            0,
                            Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE,
                            slots};
    return PyType_FromSpec(&spec);
}

TEST(Fields, OfCTypesGoByTheirOffsetIfNothingNamesThem) {
    PythonScript script("held, other, shown = [], [], []");
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
    fields->shown = script["shown"];
    // Compilers write the getter in many ways; one that is not known names nothing.
    const std::string shown = labels_between(object, script["shown"]);
    if (cyclewatch_field_of_getter(get_shown) != 0) {
        EXPECT_EQ(shown, ".shown");
    } else {
        EXPECT_EQ(shown, "C field at offset " + std::to_string(offsetof(Fields, shown)));
    }
    EXPECT_TRUE(unnamed_referents(object).empty());
    fields->first = fields->second = fields->declared = fields->borrowed = fields->shown = nullptr;
    Py_DECREF(object);
    Py_DECREF(type);
}

}  // namespace
}  // namespace cyclewatch::test
