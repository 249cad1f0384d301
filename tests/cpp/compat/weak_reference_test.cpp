// SPDX-License-Identifier: Apache-2.0
#include "compat/weak_reference.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "python/guards.h"
#include "python/references.h"
#include "python/stop_the_world.h"
#include "support/embedded_python.h"

namespace cyclewatch::test {
namespace {

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

TEST_F(WeakReference, IsDeadAfterItsObject) {
    python::OwnedRef object = python::steal(make_object());
    const python::OwnedRef weakref = python::steal(PyWeakref_NewRef(object.get(), nullptr));
    EXPECT_FALSE(is_dead(weakref));
    object.reset();
    EXPECT_TRUE(is_dead(weakref));
}

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
