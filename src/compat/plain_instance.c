/* SPDX-License-Identifier: Apache-2.0 */
#ifndef Py_BUILD_CORE
#define Py_BUILD_CORE 1
#endif
#include "compat/plain_instance.h"

#include <structmember.h>

#include "compat/features.h"
#include "compat/object_layout.h"

#if CYCLEWATCH_LAYOUTS_KNOWN

#include <internal/pycore_dict.h>
#include <internal/pycore_object.h>
#include <stddef.h>

static traverseproc traverse_of_classes = NULL;
static int dict_entries_work = 0;

#define CW_SAME_OFFSET(mine, field) \
    (offsetof(cw_dict_keys, mine) == offsetof(struct _dictkeysobject, field))
_Static_assert(CW_SAME_OFFSET(log2_index_bytes, dk_log2_index_bytes) &&
                   CW_SAME_OFFSET(kind, dk_kind) && CW_SAME_OFFSET(entry_count, dk_nentries) &&
                   sizeof(cw_dict_keys) == offsetof(struct _dictkeysobject, dk_indices) &&
                   DICT_KEYS_UNICODE == 1 && sizeof(PyDictUnicodeEntry) == sizeof(cw_dict_entry),
               "cw_dict_entries() reads dicts whose keys are strings");

#if CYCLEWATCH_HAS_INLINE_VALUES
_Static_assert(offsetof(cw_inline_values, capacity) == offsetof(PyDictValues, capacity) &&
                   offsetof(cw_inline_values, valid) == offsetof(PyDictValues, valid) &&
                   offsetof(cw_inline_values, values) == offsetof(PyDictValues, values) &&
                   (CYCLEWATCH_HAS_NO_GIL ||
                    MANAGED_DICT_OFFSET == kCwValuesWord * (Py_ssize_t)sizeof(PyObject*)),
               "cw_plain_values() reads inline values");
#else
_Static_assert(offsetof(PyDictValues, values) == 0, "cw_plain_values() reads an array of values");
#endif

/* True if cw_dict_entries() finds the values that PyDict_Next() finds. */
static int finds_entries(PyObject* dict) {
    Py_ssize_t count = 0;
    const cw_dict_entry* const entries = cw_dict_entries(dict, &count);
    Py_ssize_t found = 0;
    PyObject* key;
    PyObject* value;
    for (Py_ssize_t position = 0; entries != NULL && PyDict_Next(dict, &position, &key, &value);) {
        while (found < count && entries[found].value == NULL) {
            ++found;
        }
        if (found == count || entries[found].key != key || entries[found].value != value) {
            return 0;
        }
        ++found;
    }
    return found > 0;
}

void cw_learn_plain_instances(PyTypeObject* sample) {
    traverse_of_classes = sample->tp_traverse;
    dict_entries_work = sample->tp_dict != NULL && PyDict_CheckExact(sample->tp_dict) &&
                        finds_entries(sample->tp_dict);
}

int cw_has_dict_entries(void) {
    return dict_entries_work;
}

/* Appends the slots that `type` itself declares, without those of its bases. */
static int add_slots(PyTypeObject* type, cw_plain_layout* layout) {
    const PyMemberDef* const members = type->tp_members;
    for (Py_ssize_t i = 0; i < Py_SIZE(type); ++i) {
        if (members[i].type != T_OBJECT_EX) {
            continue; /* not visited by tp_traverse */
        }
        if (layout->slot_count == CW_MAX_PLAIN_SLOTS || members[i].offset <= 0 ||
            members[i].offset > UINT16_MAX) {
            return 0;
        }
        layout->slots[layout->slot_count++] = (uint16_t)members[i].offset;
    }
    return 1;
}

/* Pointer to the number of values of an instance with a managed dict, or NULL. */
static const Py_ssize_t* value_count_of(PyTypeObject* type) {
    PyDictKeysObject* const keys = ((PyHeapTypeObject*)type)->ht_cached_keys;
    const int may_have_values =
#if CYCLEWATCH_HAS_INLINE_VALUES
        !CYCLEWATCH_HAS_NO_GIL && PyType_HasFeature(type, Py_TPFLAGS_INLINE_VALUES);
#else
        1;
#endif
    return keys != NULL && may_have_values && !cyclewatch_layouts_failed ? &keys->dk_nentries
                                                                         : NULL;
}

int cw_plain_layout_of(PyTypeObject* type, cw_plain_layout* layout) {
    const int has_values = PyType_HasFeature(type, Py_TPFLAGS_MANAGED_DICT);
    layout->value_count = has_values ? value_count_of(type) : NULL;
    layout->slot_count = 0;
    if (traverse_of_classes == NULL || (has_values && layout->value_count == NULL) ||
        (!has_values && type->tp_dictoffset != 0)) {
        return 0;
    }
    for (PyTypeObject* base = type; base != &PyBaseObject_Type; base = base->tp_base) {
        if (base == NULL || base->tp_traverse != traverse_of_classes || !add_slots(base, layout)) {
            return 0;
        }
    }
    return 1;
}

#define CW_FIELDS(struct_name, first_field, last_field)                                     \
    ((cw_fields){offsetof(struct_name, first_field) / sizeof(PyObject*),                    \
                 (offsetof(struct_name, last_field) - offsetof(struct_name, first_field)) / \
                         sizeof(PyObject*) +                                                \
                     1})

int cw_fields_of(PyTypeObject* type, cw_fields* fields) {
    const PyTypeObject* const exception = (const PyTypeObject*)PyExc_BaseException;
    if (type->tp_traverse == exception->tp_traverse) {
        *fields = CW_FIELDS(PyBaseExceptionObject, dict, cause);
    } else if (type == &PyTraceBack_Type) {
        *fields = CW_FIELDS(PyTracebackObject, tb_next, tb_frame);
    } else if (type == &PyCell_Type) {
        *fields = CW_FIELDS(PyCellObject, ob_ref, ob_ref);
    } else if (type == &PyMethod_Type) {
        *fields = CW_FIELDS(PyMethodObject, im_func, im_self);
    } else {
        return 0;
    }
    return 1;
}

#else

int cw_has_dict_entries(void) {
    return 0;
}

int cw_fields_of(PyTypeObject* type, cw_fields* fields) {
    (void)type;
    (void)fields;
    return 0;
}

void cw_learn_plain_instances(PyTypeObject* sample) {
    (void)sample;
}

int cw_plain_layout_of(PyTypeObject* type, cw_plain_layout* layout) {
    (void)type;
    (void)layout;
    return 0;
}

#endif
