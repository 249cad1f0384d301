// SPDX-License-Identifier: Apache-2.0
#include "bytecode/attribute_stores.h"
#include "compat/code_names.h"
#include "support/embedded_python.h"

#include <gtest/gtest.h>
#include <array>
#include <string>
#include <vector>

namespace cyclewatch::test {
namespace {

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

bytecode::AttributeName attribute_of(PyCodeObject* code) {
    bytecode::AttributeName attribute{index_of(code, "attribute"), nullptr};
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
std::string text_of(PyCodeObject* code, const bytecode::AttributeStore& store) {
    std::string text = variable_text(code, store.variable) + " = ";
    if (store.value.constant != nullptr) {
        return text + "constant";
    }
    if (!store.value.is_call) {
        return text + (store.value.variable >= 0 ? variable_text(code, store.value.variable)
                                                 : "<" + text_of(store.value.name) + ">");
    }
    text += text_of(store.value.name) + "(";
    for (int variable = 0; variable < bytecode::kTrackedVariables; ++variable) {
        text += store.value.received(variable) ? variable_text(code, variable) + " " : "";
    }
    return text + ")";
}

// The stores to `attribute` in the function `stores` of a script.
std::string stores_of(const PythonScript& script) {
    PyCodeObject* const code = code_of(script["stores"]);
    std::string text;
    bytecode::visit_stores(
        code, attribute_of(code), [&](const bytecode::AttributeStore& store, int /*offset*/) {
            constexpr std::array kKinds{"", "maybe ", "computed ", "into "};
            text += (text.empty() ? "" : "; ") +
                    std::string(kKinds.at(static_cast<std::size_t>(store.kind))) +
                    text_of(code, store);
            return false;
        });
    return text;
}

// The stores to `attribute` in a function with these lines.
std::string stores_in(const std::string& lines) {
    // With calls at the end, because the compiler duplicates short blocks that return.
    return stores_of(PythonScript("def stores(self, given, other, flag):\n" + lines +
                                  "\n    other()\n    given()\n"));
}

TEST(AttributeStores, HaveTheOriginOfTheValue) {
    const struct {
        const char* lines;
        const char* stores;
    } cases[] = {
        {"    self.attribute = given", "self = given"},
        {"    self.attribute = None", "self = constant"},
        {"    self.attribute = Part(self)", "self = Part(self )"},
        {"    self.attribute = library.Part(other, place=self)", "self = Part(self other )"},
        {"    self.attribute = Part(Wrapped(self), 1)", "self = Part(self )"},
        {"    self.attribute = Part(other if flag else given, self)", "self = Part(self )"},
        {"    self.attribute = other.method()", "self = method()"},
        {"    self.attribute = other.value", "self = <value>"},
        {"    self.attribute = Part(self.value)", "self = Part()"},
        {"    self.attribute = known", "self = <known>"},
        {"    made = Part(self)\n    self.attribute = made", "self = Part(self )"},
        {"    alias = given\n    self.attribute = alias", "self = given"},
        {"    given.attribute = self", "given = self"},
        {"    self.attribute = unrelated = Part(self)", "self = Part(self )"},
        {"    other.value.attribute = given", "? = given"},
        {"    late = None\n    late = Part(self)\n    self.attribute = late", "self = Part(self )"},
        {"    self.attribute = given if flag else Part(self)", "self = <?>"},
        {"    self.attribute = given or Part(self)", "self = <?>"},
        {"    other = given\n    other = self\n    self.attribute = other", "self = <?>"},
        {"    setattr(self, 'attribute', given)", "self = given"},
        {"    setattr(self, 'attribute', Part(self))", "self = Part(self )"},
        {"    object.__setattr__(self, 'attribute', given)", "self = given"},
        {"    self.__dict__['attribute'] = given", "self = given"},
        {"    self.__dict__['attribute'] = None", "self = constant"},
        {"    given.__dict__['attribute'] = Part(self)", "given = Part(self )"},
        {"    given.part.__dict__['attribute'] = self", "? = self"},
        {"    setattr(given, 'other', self)", ""},
        {"    setattr(self, given, 'attribute')", "computed self = constant"},
        {"    object.__setattr__(given, other, self)", "computed given = self"},
        {"    attach(given, 'attribute', self)", "maybe given = self"},
        {"    self.attach(given, 'attribute', other)", "maybe given = other"},
        {"    attach(given, other, self)", ""},
        {"    self.table['attribute'] = given", ""},
        {"    getattr(self, 'attribute', given)", ""},
        {"    given.attribute.append(self)", "into given = self"},
        {"    given.attribute.insert(0, self)", "into given = self"},
        {"    given.part.attribute.add(self)", "into ? = self"},
        {"    items = given.attribute\n    items.append(self)", "into given = self"},
        {"    given.attribute['name'] = self", "into given = self"},
        {"    given.attribute[self] = other", "into given = self"},
        {"    self.attribute[given] = other", "into self = other"},
        {"    given.attribute.remove(self)", ""},
        {"    given.other.append(self)", ""},
    };
    for (const auto& expected : cases) {
        EXPECT_EQ(stores_in(expected.lines), expected.stores) << expected.lines;
    }
}

// A script that runs the function often enough for the interpreter to specialize it.
constexpr const char* kOftenRun = R"(
class Node:
    def make(self, value):
        return value
def stores(self, given):
    self.attribute = given
    self.attribute = self.make(given)
    for item in given:
        self.attribute[item] = self
def run():
    node = Node()
    for _ in range(100):
        node.__dict__.pop("attribute", None)
        stores(node, {})
run()
)";
constexpr const char* kItsStores = "self = given; self = make(given ); into self = self";

TEST(AttributeStores, AreFoundInSpecializedCode) {
    EXPECT_EQ(stores_of(PythonScript(kOftenRun)), kItsStores);
}

TEST(AttributeStores, AreFoundInInstrumentedCode) {
    if (Py_Version < 0x030C0000) {
        GTEST_SKIP() << "sys.monitoring does not exist";
    }
    const PythonScript script(std::string(kOftenRun) + R"(
import sys
tool = sys.monitoring
tool.use_tool_id(4, "test")
events = tool.events.LINE | tool.events.INSTRUCTION | tool.events.CALL
tool.set_local_events(4, stores.__code__, events)
run()
)");
    EXPECT_EQ(stores_of(script), kItsStores);
    const PythonScript end("import sys\nsys.monitoring.free_tool_id(4)\n");
}

// The lines, relative to the function, that load `method` without calling it. A line is negative if
// the object that has `method` is itself an attribute.
std::vector<int> reads_in(const std::string& lines) {
    const PythonScript script("def reads(self):\n" + lines);
    PyCodeObject* const code = code_of(script["reads"]);
    std::vector<int> found;
    bytecode::visit_reads(code, index_of(code, "method"), [&](bool of_attribute, int offset) {
        const int line = cyclewatch_line_at(code, offset) - code->co_firstlineno;
        found.push_back(of_attribute ? -line : line);
    });
    return found;
}

TEST(AttributeReads, ExcludeMethodCalls) {
    EXPECT_EQ(reads_in("    self.hooks.append(self.method)\n    self.method()\n"),
              std::vector<int>{1});
}

TEST(AttributeReads, TellAttributesFromVariables) {
    EXPECT_EQ(reads_in("    use(self.part.method)\n    part = self.part\n    use(part.method)\n"
                       "    use(make().method)\n"),
              (std::vector<int>{-1, -3, 4}));
}

TEST(AttributeReads, SupportNameIndexesAbove255) {
    std::string lines;
    for (int i = 0; i < 300; ++i) {
        lines += "    name" + std::to_string(i) + "()\n";
    }
    EXPECT_EQ(reads_in(lines + "    return self.method\n"), std::vector<int>{301});
}

}  // namespace
}  // namespace cyclewatch::test
