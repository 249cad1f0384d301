/* SPDX-License-Identifier: Apache-2.0 */
/* Types that break the rules of tp_traverse, each in one way. Every one has two references,
 * `first` and `second`, and one to what its tp_traverse makes; make(kind, first) returns an object
 * of the kind, untracked(kind, first) one that the collector does not know, so that whoever follows
 * references is the only visitor. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stddef.h>
#include <structmember.h>

typedef struct {
    PyObject_HEAD PyObject* first;
    PyObject* second;
    PyObject* made;
} Liar;

/* How often any of the functions below was called. */
static Py_ssize_t visits;

static int honest(Liar* self, visitproc visit, void* arg) {
    ++visits;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->first);
    Py_VISIT(self->second);
    return 0;
}

static int silent(Liar* self, visitproc visit, void* arg) {
    ++visits;
    Py_VISIT(Py_TYPE(self));
    return 0;
}

static int twice(Liar* self, visitproc visit, void* arg) {
    Py_VISIT(self->first);
    return honest(self, visit, arg);
}

static int null_first(Liar* self, visitproc visit, void* arg) {
    const int result = visit(NULL, arg);
    return result != 0 ? result : honest(self, visit, arg);
}

static int raising(Liar* self, visitproc visit, void* arg) {
    (void)honest(self, visit, arg);
    PyErr_SetString(PyExc_ValueError, "raised in tp_traverse");
    return -1;
}

static int halfway(Liar* self, visitproc visit, void* arg) {
    ++visits;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->first);
    return 1;
}

static int collecting(Liar* self, visitproc visit, void* arg) {
    PyGC_Collect();
    return honest(self, visit, arg);
}

static int allocating(Liar* self, visitproc visit, void* arg) {
    PyObject* const list = PyList_New(3);
    Py_XDECREF(list);
    return honest(self, visit, arg);
}

/* Shows an object that is gone when this returns. */
static int fleeting(Liar* self, visitproc visit, void* arg) {
    PyObject* const set = PySet_New(NULL);
    const int result = set != NULL ? visit(set, arg) : 0;
    Py_XDECREF(set);
    return result != 0 ? result : honest(self, visit, arg);
}

/* Shows an object that is gone when this is called again. */
static int renewing(Liar* self, visitproc visit, void* arg) {
    PyObject* const old = self->made;
    self->made = PySet_New(NULL);
    Py_XDECREF(old);
    Py_VISIT(self->made);
    return honest(self, visit, arg);
}

static int clear(Liar* self) {
    Py_CLEAR(self->first);
    Py_CLEAR(self->second);
    Py_CLEAR(self->made);
    return 0;
}

static void dealloc(Liar* self) {
    PyTypeObject* const type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    (void)clear(self);
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

static PyMemberDef members[] = {
    {"first", T_OBJECT, offsetof(Liar, first), 0, NULL},
    {"second", T_OBJECT, offsetof(Liar, second), 0, NULL},
    {NULL, 0, 0, 0, NULL},
};

typedef struct {
    const char* name;
    traverseproc traverse;
} Kind;

static const Kind kinds[] = {
    {"lying_types.Honest", (traverseproc)honest},
    {"lying_types.Silent", (traverseproc)silent},
    {"lying_types.Twice", (traverseproc)twice},
    {"lying_types.NullFirst", (traverseproc)null_first},
    {"lying_types.Raising", (traverseproc)raising},
    {"lying_types.Halfway", (traverseproc)halfway},
    {"lying_types.Collecting", (traverseproc)collecting},
    {"lying_types.Allocating", (traverseproc)allocating},
    {"lying_types.Fleeting", (traverseproc)fleeting},
    {"lying_types.Renewing", (traverseproc)renewing},
};

static PyObject* make_type(const Kind* kind) {
    PyType_Slot slots[] = {
        {Py_tp_traverse, (void*)kind->traverse},
        {Py_tp_clear, (void*)clear},
        {Py_tp_dealloc, (void*)dealloc},
        {Py_tp_members, members},
        {0, NULL},
    };
    PyType_Spec spec = {
        .name = kind->name,
        .basicsize = sizeof(Liar),
        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
        .slots = slots,
    };
    return PyType_FromSpec(&spec);
}

/* The object of type `kind`, not tracked. */
static Liar* new_liar(PyObject* args) {
    PyTypeObject* type = NULL;
    PyObject* first = NULL;
    if (!PyArg_ParseTuple(args, "O!O", &PyType_Type, &type, &first)) {
        return NULL;
    }
    Liar* const self = PyObject_GC_New(Liar, type);
    if (self != NULL) {
        Py_INCREF(first);
        self->first = first;
        self->second = NULL;
        self->made = NULL;
    }
    return self;
}

static PyObject* make(PyObject* Py_UNUSED(module), PyObject* args) {
    Liar* const self = new_liar(args);
    if (self != NULL) {
        PyObject_GC_Track(self);
    }
    return (PyObject*)self;
}

static PyObject* untracked(PyObject* Py_UNUSED(module), PyObject* args) {
    return (PyObject*)new_liar(args);
}

static PyObject* count(PyObject* Py_UNUSED(module), PyObject* Py_UNUSED(ignored)) {
    return PyLong_FromSsize_t(visits);
}

static PyMethodDef functions[] = {
    {"make", make, METH_VARARGS, NULL},
    {"untracked", untracked, METH_VARARGS, NULL},
    {"visits", count, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "lying_types",
    .m_size = -1,
    .m_methods = functions,
};

PyMODINIT_FUNC PyInit_lying_types(void) {
    PyObject* const module = PyModule_Create(&definition);
    for (size_t i = 0; module != NULL && i < sizeof kinds / sizeof kinds[0]; ++i) {
        PyObject* const type = make_type(&kinds[i]);
        if (type == NULL || PyModule_AddType(module, (PyTypeObject*)type) < 0) {
            Py_XDECREF(type);
            Py_DECREF(module);
            return NULL;
        }
        Py_DECREF(type);
    }
    return module;
}
