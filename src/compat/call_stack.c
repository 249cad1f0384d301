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

#if CYCLEWATCH_CURRENT_FRAME_IS_OF_C_CALL
#define CURRENT_FRAME(thread) ((thread)->cframe->current_frame)
#else
#define CURRENT_FRAME(thread) ((thread)->current_frame)
#endif

#if CYCLEWATCH_STACK_HAS_BASE_FRAME
#define BELOW_ALL_FRAMES(thread) ((thread)->base_frame)
#else
#define BELOW_ALL_FRAMES(thread) NULL
#endif

cyclewatch_callers cyclewatch_hide_callers(void) {
    PyThreadState* const thread = PyThreadState_Get();
    const cyclewatch_callers callers = {
        .depth = LIMIT(thread) - REMAINING(thread),
        .innermost = CURRENT_FRAME(thread),
    };
    REMAINING(thread) = LIMIT(thread);
    CURRENT_FRAME(thread) = BELOW_ALL_FRAMES(thread);
    return callers;
}

void cyclewatch_show_callers(cyclewatch_callers callers) {
    PyThreadState* const thread = PyThreadState_Get();
    REMAINING(thread) -= callers.depth;  // the limit may be another one by now
    CURRENT_FRAME(thread) = callers.innermost;
}

int cyclewatch_calls_are_nearly_spent(void) {
    enum { kEnoughForAHandler = 100 };
    const PyThreadState* const thread = PyThreadState_Get();
    const int half = LIMIT(thread) / 2;
    return REMAINING(thread) < (half < kEnoughForAHandler ? half : kEnoughForAHandler);
}
