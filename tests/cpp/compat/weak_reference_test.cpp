// SPDX-License-Identifier: Apache-2.0
#include "compat/weak_reference.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <future>
#include <thread>

#include "python/guards.h"
#include "python/references.h"
#include "python/stop_the_world.h"
#include "support/embedded_python.h"

namespace cyclewatch::test {
namespace {

// Like an array of a C library: supports weak references, but is not tracked by the collector.
struct Block {
    PyObject_HEAD PyObject* weakrefs;
};

void free_block(PyObject* self) {
    PyObject_ClearWeakRefs(self);
    Py_TYPE(self)->tp_free(self);
}

PyTypeObject block_type = [] {
    PyTypeObject type{};
    type.ob_base = {PyObject_HEAD_INIT(nullptr) 0};
    type.tp_name = "sample.Block";
    type.tp_basicsize = sizeof(Block);
    type.tp_dealloc = free_block;
    type.tp_flags = Py_TPFLAGS_DEFAULT;
    type.tp_weaklistoffset = offsetof(Block, weakrefs);
    return type;
}();

PyObject* make_block() {
    auto* const block = PyObject_New(Block, &block_type);
    block->weakrefs = nullptr;
    return reinterpret_cast<PyObject*>(block);
}

bool is_dead(const python::OwnedRef& weakref) {
    bool dead = false;
    python::with_world_stopped([&] { dead = cyclewatch_weakref_is_dead(weakref.get()) != 0; });
    return dead;
}

class WeakReference : public ::testing::Test {
  protected:
    void SetUp() override {
        start_python();
        ASSERT_EQ(PyType_Ready(&block_type), 0);
    }
};

TEST_F(WeakReference, IsDeadAfterItsObject) {
    python::OwnedRef block = python::steal(make_block());
    const python::OwnedRef weakref = python::steal(PyWeakref_NewRef(block.get(), nullptr));
    EXPECT_FALSE(is_dead(weakref));
    block.reset();
    EXPECT_TRUE(is_dead(weakref));
}

// On free-threaded builds, a blocked thread cannot free the objects that only it may free.
TEST_F(WeakReference, IsDeadIfItsObjectIsQueuedForItsThread) {
    PyObject* block = nullptr;
    std::promise<void> made;
    std::promise<void> over;
    std::thread maker([&] {
        const PyGILState_STATE state = PyGILState_Ensure();
        block = make_block();
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
    const python::OwnedRef weakref = python::steal(PyWeakref_NewRef(block, nullptr));
    {
        const python::OwnedRef other = python::borrow(block);
        EXPECT_FALSE(is_dead(weakref));
        static_cast<void>(python::steal(block));  // the maker's, dropped here
        EXPECT_FALSE(is_dead(weakref));
    }
    EXPECT_TRUE(is_dead(weakref));
    over.set_value();
    const python::GilRelease release;
    maker.join();
}

}  // namespace
}  // namespace cyclewatch::test
