// SPDX-License-Identifier: Apache-2.0
// The calls of Python code that the calling thread is in the midst of.
//
// REQUIRES: GIL held. RUNS PYTHON: never. ALLOCATES: no.
#pragma once

#include <Python.h>

#ifdef __cplusplus
extern "C" {
#endif

// The calls that led to some place: how deep they are, as the recursion limit counts, and the
// frame of the innermost.
typedef struct {
    int depth;
    struct _PyInterpreterFrame* innermost;
    int more;
} cyclewatch_callers;

// From now on no call counts against the limit and no frame shows but of calls made from here, as
// if the interpreter's main() had come here; and `more` calls may be made than the limit says. To
// be undone before the caller returns.
cyclewatch_callers cyclewatch_hide_callers(int more);
void cyclewatch_show_callers(cyclewatch_callers callers);

#ifdef __cplusplus
}
#endif
