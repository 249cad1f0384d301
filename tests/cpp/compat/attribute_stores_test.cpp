// SPDX-License-Identifier: Apache-2.0
#include "compat/attribute_stores.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "compat/code_names.h"
#include "support/embedded_python.h"

namespace cyclewatch::test {
namespace {

constexpr const char* kSource = R"(
def stores(self, given, other, flag):
    self.attribute = given
    self.attribute = None
    self.attribute = Part(self)
    self.attribute = library.Part(other, place=self)
    self.attribute = Part(Wrapped(self), 1)
    self.attribute = Part(other if flag else given, self)
    self.attribute = given if flag else Part(self)
    self.attribute = given or Part(self)
    self.attribute = other.method()
    self.attribute = other.value
    self.attribute = Part(self.value)
    self.attribute = known
    made = Part(self)
    self.attribute = made
    alias = given
    self.attribute = alias
    given.attribute = self
    other = given
    other = self
    self.attribute = other
    self.attribute = unrelated = Part(self)
    other.value.attribute = given
    late = None
    late = Part(self)
    self.attribute = late
    return unrelated

def reads(self):
    self.hooks.append(self.method)
    self.method()
    return [self.method for _ in self.hooks], lambda: self.method
)";

PyCodeObject* code_of(PyObject* function) {
    return reinterpret_cast<PyCodeObject*>(PyFunction_GetCode(function));
}

Py_ssize_t index_of(PyCodeObject* code, const char* name) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(code->co_names); ++i) {
        if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(code->co_names, i), name) == 0) {
            return i;
        }
    }
    return -1;
}

cyclewatch_attribute attribute_of(PyCodeObject* code) {
    cyclewatch_attribute attribute{index_of(code, "attribute"), nullptr};
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(code->co_consts); ++i) {
        PyObject* const constant = PyTuple_GET_ITEM(code->co_consts, i);
        if (PyUnicode_Check(constant) &&
            PyUnicode_CompareWithASCIIString(constant, "attribute") == 0) {
            attribute.constant = constant;
        }
    }
    return attribute;
}

std::string text_of(PyObject* name) {
    return name == nullptr ? "?" : PyUnicode_AsUTF8(name);
}

std::string variable_text(PyCodeObject* code, int variable) {
    return variable < 0 ? "?" : text_of(cyclewatch_variable_name(code, variable));
}

// "holder = value".
std::string text_of(PyCodeObject* code, const cyclewatch_store& store) {
    std::string text = variable_text(code, store.variable) + " = ";
    if (store.value.constant != nullptr) {
        return text + "constant";
    }
    if (store.value.is_call == 0) {
        return text + (store.value.variable >= 0 ? variable_text(code, store.value.variable)
                                                 : "<" + text_of(store.value.name) + ">");
    }
    text += text_of(store.value.name) + "(";
    for (int variable = 0; variable < 32; ++variable) {
        text +=
            (store.value.arguments >> variable) % 2 != 0 ? variable_text(code, variable) + " " : "";
    }
    return text + ")";
}

struct Found {
    PyCodeObject* code;
    std::vector<std::string> stores;
    std::vector<int> lines;
};

int note_store(const cyclewatch_store* store, void* arg) {
    auto& found = *static_cast<Found*>(arg);
    found.stores.push_back(text_of(found.code, *store));
    return 0;
}

int note_read(int offset, void* arg) {
    auto& found = *static_cast<Found*>(arg);
    found.lines.push_back(cyclewatch_line_at(found.code, offset) - found.code->co_firstlineno);
    return 0;
}

TEST(AttributeStores, HaveTheOriginOfTheValue) {
    const PythonScript script(kSource);
    Found found{code_of(script["stores"]), {}, {}};
    cyclewatch_visit_stores(found.code, attribute_of(found.code), note_store, &found);
    // Conditional values: see the test below.
    std::erase_if(found.stores, [](const std::string& text) { return text == "self = <?>"; });
    const std::vector<std::string> expected{
        "self = given",
        "self = constant",
        "self = Part(self )",
        "self = Part(self other )",
        "self = Part(self )",
        "self = Part(self )",
        "self = method()",
        "self = <value>",
        "self = Part()",
        "self = <known>",
        "self = Part(self )",
        "self = given",
        "given = self",
        "self = Part(self )",
        "? = given",
        "self = Part(self )",
    };
    EXPECT_EQ(found.stores, expected);
}

TEST(AttributeStores, IncludeStoresByName) {
    const PythonScript script(
        "def stores(self, given):\n"
        "    setattr(self, 'attribute', given)\n"
        "    setattr(given, 'other', self)\n"
        "    setattr(self, 'attribute', Part(self))\n"
        "    setattr(self, given, 'attribute')\n"
        "    object.__setattr__(self, 'attribute', given)\n"
        "    self.__dict__['attribute'] = given\n"
        "    self.__dict__['attribute'] = None\n"
        "    self.table['attribute'] = given\n"
        "    given.__dict__['attribute'] = Part(self)\n"
        "    given.part.__dict__['attribute'] = self\n"
        "    getattr(self, 'attribute', given)\n");
    Found found{code_of(script["stores"]), {}, {}};
    cyclewatch_visit_stores(found.code, attribute_of(found.code), note_store, &found);
    const std::vector<std::string> expected{
        "self = given",
        "self = Part(self )",
        "self = given",
        "self = given",
        "self = constant",
        "given = Part(self )",
        "? = self",
    };
    EXPECT_EQ(found.stores, expected);
}

TEST(AttributeStores, ConditionalValuesAreUnknown) {
    const PythonScript script(
        "def stores(self, given, flag):\n"
        "    self.attribute = given if flag else Part(self)\n"
        "    self.attribute = given or Part(self)\n"
        "    other = given\n"
        "    other = self\n"
        "    self.attribute = other\n");
    Found found{code_of(script["stores"]), {}, {}};
    cyclewatch_visit_stores(found.code, attribute_of(found.code), note_store, &found);
    EXPECT_EQ(found.stores, std::vector<std::string>(3, "self = <?>"));
}

TEST(AttributeReads, ExcludeMethodCalls) {
    const PythonScript script(kSource);
    Found found{code_of(script["reads"]), {}, {}};
    cyclewatch_visit_reads(found.code, index_of(found.code, "method"), note_read, &found);
    ASSERT_FALSE(found.lines.empty());
    EXPECT_EQ(found.lines.front(), 1);
    for (const int line : found.lines) {
        EXPECT_NE(line, 2);
    }
}

TEST(AttributeReads, SupportNameIndexesAbove255) {
    std::string source = "def reads(self):\n";
    for (int i = 0; i < 300; ++i) {
        source += "    name" + std::to_string(i) + "()\n";
    }
    const PythonScript script(source + "    return self.method\n");
    Found found{code_of(script["reads"]), {}, {}};
    cyclewatch_visit_reads(found.code, index_of(found.code, "method"), note_read, &found);
    EXPECT_EQ(found.lines, std::vector<int>{301});
}

}  // namespace
}  // namespace cyclewatch::test
