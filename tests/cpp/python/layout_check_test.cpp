// SPDX-License-Identifier: Apache-2.0
#include "python/layout_check.h"

#include <gtest/gtest.h>

#include "support/embedded_python.h"

namespace cyclewatch::test {
namespace {

// Must run first: only the first check in a process creates samples.
TEST(LayoutCheck, LeavesNoGarbage) {
    start_python();
    PyGC_Collect();
    static_cast<void>(python::check_layouts());
    EXPECT_EQ(PyGC_Collect(), 0);
}

TEST(LayoutCheck, SucceedsOnThisInterpreter) {
    start_python();
    const python::LayoutCheck& check = python::check_layouts();
    EXPECT_TRUE(check.ok()) << check.reason;
    EXPECT_EQ(check.reason, "");
    EXPECT_EQ(PyErr_Occurred(), nullptr);
}

}  // namespace
}  // namespace cyclewatch::test
