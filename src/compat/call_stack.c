// SPDX-License-Identifier: Apache-2.0
#include "compat/call_stack.h"

#include "compat/features.h"

#if CYCLEWATCH_RECURSION_OF_PYTHON_IS_APART
#define LIMIT(thread) ((thread)->py_recursion_limit)
#define REMAINING(thread) ((thread)->py_recursion_remaining)
#else
#define LIMIT(thread) ((thread)->recursion_limit)
#define REMAINING(thread) ((thread)->recursion_remaining)
#endif

int cyclewatch_calls_are_nearly_spent(void) {
    enum { kEnoughForAHandler = 100 };
    const PyThreadState* const thread = PyThreadState_Get();
    const int half = LIMIT(thread) / 2;
    return REMAINING(thread) < (half < kEnoughForAHandler ? half : kEnoughForAHandler);
}
