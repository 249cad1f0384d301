/* SPDX-License-Identifier: Apache-2.0 */
#define Py_BUILD_CORE 1
#include "compat/plain_instance.h"

#include "compat/features.h"
#include "compat/layout_switches.h"

#if CYCLEWATCH_LAYOUTS_KNOWN && CYCLEWATCH_HAS_VALUES_AND_DICT_POINTERS

#include <internal/pycore_dict.h>

static traverseproc traverse_of_classes = NULL;

void cw_learn_plain_instances(PyTypeObject* sample) {
    traverse_of_classes = sample->tp_traverse;
}

const Py_ssize_t* cw_plain_value_count(PyTypeObject* type) {
    if (traverse_of_classes == NULL || !PyType_HasFeature(type, Py_TPFLAGS_MANAGED_DICT) ||
        (cyclewatch_unreliable_layouts & CYCLEWATCH_LAYOUT_INLINE_VALUES) != 0) {
        return NULL;
    }
    for (PyTypeObject* base = type; base != &PyBaseObject_Type; base = base->tp_base) {
        if (base == NULL || base->tp_traverse != traverse_of_classes || Py_SIZE(base) != 0) {
            return NULL;
        }
    }
    PyDictKeysObject* const keys = ((PyHeapTypeObject*)type)->ht_cached_keys;
    return keys == NULL ? NULL : &keys->dk_nentries;
}

#else

void cw_learn_plain_instances(PyTypeObject* sample) {
    (void)sample;
}

const Py_ssize_t* cw_plain_value_count(PyTypeObject* type) {
    (void)type;
    return NULL;
}

#endif
