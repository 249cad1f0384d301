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

#if CYCLEWATCH_THREAD_STATE_MAY_BE_ASKED_FOR
#define UNCHECKED_THREAD() PyThreadState_GetUnchecked()
#else
#define UNCHECKED_THREAD() _PyThreadState_UncheckedGet()
#endif

cyclewatch_callers cyclewatch_hide_callers(int more) {
    PyThreadState* const thread = PyThreadState_Get();
    const cyclewatch_callers callers = {
        .depth = LIMIT(thread) - REMAINING(thread),
        .innermost = CURRENT_FRAME(thread),
        .more = more,
    };
    REMAINING(thread) = LIMIT(thread) + more;
    CURRENT_FRAME(thread) = BELOW_ALL_FRAMES(thread);
    return callers;
}

void cyclewatch_show_callers(cyclewatch_callers callers) {
    PyThreadState* const thread = UNCHECKED_THREAD();
    if (thread == NULL) {
        return; /* unwound while the interpreter ends, which has taken the thread's state */
    }
    REMAINING(thread) -= callers.depth + callers.more;  // the limit may be another one by now
    CURRENT_FRAME(thread) = callers.innermost;
}
