/* SPDX-License-Identifier: Apache-2.0
 * The links of the collector's lists, for the C files in this directory. Include pycore_gc.h first.
 *
 * REQUIRES: GIL held. RUNS PYTHON: never. ALLOCATES: never. */
#pragma once

#include <Python.h>
#include <stdint.h>

enum { kCwLinkFlags = 3 }; /* flag bits of _gc_prev and _gc_next */

static inline PyGC_Head* cw_next_head(const PyGC_Head* head) {
    return (PyGC_Head*)(head->_gc_next & ~(uintptr_t)kCwLinkFlags);
}

static inline PyGC_Head* cw_previous_head(const PyGC_Head* head) {
    return (PyGC_Head*)(head->_gc_prev & ~(uintptr_t)kCwLinkFlags);
}
