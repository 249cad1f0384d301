// SPDX-License-Identifier: Apache-2.0
#include "python/collection_under_way.h"

#include <Python.h>

namespace cyclewatch::python {
namespace {

// There is never more than one collection. What PyThread_get_thread_ident() gives for a thread that
// is none.
unsigned long collecting_thread = PYTHREAD_INVALID_THREAD_ID;

}  // namespace

void collection_began() noexcept {
    collecting_thread = PyThread_get_thread_ident();
}

void collection_is_over() noexcept {
    collecting_thread = PYTHREAD_INVALID_THREAD_ID;
}

bool is_collecting_here() noexcept {
    return collecting_thread == PyThread_get_thread_ident();
}

}  // namespace cyclewatch::python
