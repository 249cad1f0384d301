// SPDX-License-Identifier: Apache-2.0
// Reads words of simulated autograd nodes. The heap blocks are no larger than the offsets require,
// so that AddressSanitizer and valgrind notice a read outside them.
#include "device/readers/torch_hidden.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "python/references.h"
#include "support/embedded_python.h"

namespace cyclewatch::device {
namespace {

using python::OwnedRef;
using python::steal;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
using Words = std::vector<std::uintptr_t>;

constexpr std::uintptr_t kHookClass = 0x1111'0000;
constexpr std::uintptr_t kMetadataClass = 0x2222'0000;
constexpr std::uintptr_t kPackClass = 0x3333'0000;
constexpr std::size_t kWord = sizeof(std::uintptr_t);

// The Python object of a node, of a saved tensor, or of neither.
struct FakeObject {
    PyObject_HEAD std::uintptr_t address;
    PyObject* next;    // next_functions
    PyObject* saved;   // _raw_saved_self
    PyObject* data;    // of a saved tensor
    PyObject* unpack;  // of a saved tensor
};

void dealloc(PyObject* self) {
    auto* const fake = reinterpret_cast<FakeObject*>(self);
    for (PyObject* const each : {fake->next, fake->saved, fake->data, fake->unpack}) {
        Py_XDECREF(each);
    }
    Py_TYPE(self)->tp_free(self);
}

template <PyObject* FakeObject::*kMember>
PyObject* value_of(PyObject* self, void*) {
    PyObject* const value = reinterpret_cast<FakeObject*>(self)->*kMember;
    PyObject* const result = value != nullptr ? value : Py_None;
    Py_INCREF(result);
    return result;
}

// Getters are only used if a static type defines them.
PyTypeObject make_type(const char* name, PyGetSetDef* getters) {
    PyTypeObject type{};
    Py_SET_REFCNT(reinterpret_cast<PyObject*>(&type), 1);
    type.tp_name = name;
    type.tp_basicsize = sizeof(FakeObject);
    type.tp_dealloc = dealloc;
    type.tp_flags = Py_TPFLAGS_DEFAULT;
    type.tp_getset = getters;
    type.tp_new = PyType_GenericNew;
    return type;
}

PyTypeObject* node_type() {
    static PyGetSetDef getters[] = {
        {"next_functions", value_of<&FakeObject::next>, nullptr, nullptr, nullptr},
        {"_raw_saved_self", value_of<&FakeObject::saved>, nullptr, nullptr, nullptr},
        {nullptr, nullptr, nullptr, nullptr, nullptr},
    };
    static PyTypeObject type = make_type("FakeBackward0", getters);
    EXPECT_EQ(PyType_Ready(&type), 0);
    return &type;
}

PyTypeObject* saved_type() {
    static PyGetSetDef getters[] = {
        {"data", value_of<&FakeObject::data>, nullptr, nullptr, nullptr},
        {"unpack_hook", value_of<&FakeObject::unpack>, nullptr, nullptr, nullptr},
        {nullptr, nullptr, nullptr, nullptr, nullptr},
    };
    static PyTypeObject type = make_type("FakeSavedTensor", getters);
    EXPECT_EQ(PyType_Ready(&type), 0);
    return &type;
}

std::uintptr_t address_of(const Words& words) {
    return reinterpret_cast<std::uintptr_t>(words.data());
}
std::uintptr_t address_of(PyObject* object) {
    return reinterpret_cast<std::uintptr_t>(object);
}

// A node: its class, its counts, a vector of pointers to hooks, and a pointer to the metadata.
class TorchHiddenTest : public ::testing::Test {
  protected:
    enum Field : std::size_t {
        kClass,
        kCounts,
        kHooks,
        kHooksEnd,
        kHooksCapacity,
        kMetadata,
        kSize
    };

    TorchHiddenTest() {
        torch_.tensor_base = &PyLong_Type;  // no object of these tests is a tensor
        torch_.use_count = python::borrow(Py_None);
        layout_.tensors = layout_.nodes = layout_.saved = true;
        layout_.node_in_wrapper = layout_.saved_in_wrapper = offsetof(FakeObject, address);
        layout_.hook_lists = {{kHooks * kWord, kHookClass, {kWord}}};
        layout_.metadata = {kMetadata * kWord, kMetadataClass, {kWord}};
        layout_.saved_hooks = {0, kPackClass, {kWord, 2 * kWord, 3 * kWord}};
        layout_.saved_nodes = {kWord};
    }

    static OwnedRef make(PyTypeObject* type, std::uintptr_t address) {
        OwnedRef object = steal(PyObject_CallNoArgs(reinterpret_cast<PyObject*>(type)));
        EXPECT_TRUE(object) << test::take_python_error();
        reinterpret_cast<FakeObject*>(object.get())->address = address;
        return object;
    }
    static OwnedRef make_node(const Words& words) { return make(node_type(), address_of(words)); }
    static FakeObject& fake(const OwnedRef& object) {
        return *reinterpret_cast<FakeObject*>(object.get());
    }

    // Labels of the references from `node`.
    std::vector<std::string> names_of(const OwnedRef& node) {
        hidden_ = {};
        PyObject* const object = node.get();
        TorchHidden(torch_, layout_, hidden_).add({&object, 1});
        PyErr_Clear();
        std::vector<std::string> names;
        for (const collector::HiddenReference& each : hidden_.of(object)) {
            names.push_back(each.name);
        }
        return names;
    }

    torch_api::TorchFunctions torch_;
    TorchLayout layout_;
    collector::HiddenReferences hidden_;
    OwnedRef dict_ = [] {
        test::start_python();
        return steal(PyDict_New());
    }();
    Words hook_{kHookClass, address_of(dict_.get())};
    Words hooks_{address_of(hook_)};
    Words metadata_{kMetadataClass, address_of(dict_.get())};
    Words node_ = [] {
        Words words(kSize, 0);
        words[kCounts] = (std::uintptr_t{7} << 32U) | 5U;  // 5 strong references
        return words;
    }();
};

TEST_F(TorchHiddenTest, ReadsTheCountOfANode) {
    const OwnedRef node = make_node(node_);
    EXPECT_THAT(names_of(node), IsEmpty());
    ASSERT_EQ(hidden_.counts.size(), 1U);
    EXPECT_EQ(hidden_.counts[0].second, 3) << "neither the wrapper nor the node counts";
}

TEST_F(TorchHiddenTest, SkipsAFunctionWithoutANode) {
    EXPECT_THAT(names_of(make(node_type(), 0)), IsEmpty());
    EXPECT_THAT(hidden_.counts, IsEmpty());
}

TEST_F(TorchHiddenTest, ListsHooksAndMetadata) {
    const std::uintptr_t begin = address_of(hooks_);
    node_[kHooks] = begin;
    node_[kHooksEnd] = node_[kHooksCapacity] = begin + kWord;
    node_[kMetadata] = address_of(metadata_);
    EXPECT_THAT(names_of(make_node(node_)), UnorderedElementsAre("autograd hook", "metadata"));
}

TEST_F(TorchHiddenTest, DoesNotReadObjectsOfAnotherClass) {
    hook_ = {kHookClass + kWord};
    metadata_ = {kMetadataClass + kWord};
    hooks_ = {address_of(hook_), 0};
    node_[kHooks] = address_of(hooks_);
    node_[kHooksEnd] = node_[kHooksCapacity] = address_of(hooks_) + 2 * kWord;
    node_[kMetadata] = address_of(metadata_);
    EXPECT_THAT(names_of(make_node(node_)), IsEmpty());
}

TEST_F(TorchHiddenTest, ReadsOnlyVerifiedKinds) {
    Words short_node{0, 5};  // without hooks and metadata
    layout_.hook_lists.clear();
    layout_.metadata.reset();
    EXPECT_THAT(names_of(make_node(short_node)), IsEmpty());
    layout_.nodes = false;
    EXPECT_THAT(names_of(make_node(short_node)), IsEmpty());
    EXPECT_THAT(hidden_.held, IsEmpty());
}

TEST_F(TorchHiddenTest, FollowsNextFunctions) {
    Words next_words = node_;
    const OwnedRef next = make_node(next_words);
    const OwnedRef node = make_node(node_);
    fake(node).next = Py_BuildValue("((Oi)(Oi))", Py_None, 0, next.get(), 0);
    EXPECT_THAT(names_of(node), UnorderedElementsAre("next_functions"));
    EXPECT_EQ(hidden_.of(node.get())[0].target, next.get());
    EXPECT_EQ(hidden_.of(node.get())[0].index, 1U);
    EXPECT_EQ(hidden_.held.size(), 2U);
}

TEST_F(TorchHiddenTest, ReadsTheHooksOfASavedTensor) {
    const OwnedRef packed = steal(PyList_New(0));
    const Words pack{
        kPackClass, address_of(dict_.get()), address_of(dict_.get()), address_of(packed.get())};
    const OwnedRef node = make_node(node_);
    const Words variable{address_of(pack), address_of(node_)};  // saves its own node
    OwnedRef saved = make(saved_type(), address_of(variable));
    fake(saved).unpack = PyDict_New();
    fake(node).saved = saved.release();
    EXPECT_THAT(
        names_of(node),
        UnorderedElementsAre("pack_hook", "unpack_hook", "saved:self", "saved:self.grad_fn"));
}

TEST_F(TorchHiddenTest, DoesNotFollowASavedTensorToAnUnknownNode) {
    const Words pack{kPackClass + kWord};
    const Words variable{address_of(pack), 0x1234};
    const OwnedRef node = make_node(node_);
    fake(node).saved = make(saved_type(), address_of(variable)).release();
    EXPECT_THAT(names_of(node), IsEmpty());
}

TEST_F(TorchHiddenTest, DoesNotReadBehindTheEndOfASavedTensor) {
    layout_.saved_in_wrapper = sizeof(FakeObject);
    const OwnedRef node = make_node(node_);
    fake(node).saved = make(saved_type(), 0).release();
    EXPECT_THAT(names_of(node), IsEmpty());
}

}  // namespace
}  // namespace cyclewatch::device
