// SPDX-License-Identifier: Apache-2.0
#include "watch/job_rank.h"

#include <Python.h>

#include <charconv>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "python/guards.h"
#include "python/references.h"

namespace cyclewatch::watch {
namespace {

int variable(const char* name) {
    const char* text = std::getenv(name);
    if (text == nullptr) {
        return -1;
    }
    int value = -1;
    const std::string_view digits = text;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return error == std::errc() && end == digits.data() + digits.size() && value >= 0 ? value : -1;
}

JobRank rank_in_environment() {
    const int rank = variable("RANK");
    const int world_size = variable("WORLD_SIZE");
    return {.rank = rank, .world_size = rank >= 0 && world_size > rank ? world_size : -1};
}

// A number that a method of C++ returns; -1 if there is none.
int number_from(PyObject* object, const char* method) {
    auto* const type = reinterpret_cast<PyObject*>(Py_TYPE(object));
    const python::OwnedRef function = python::steal(PyObject_GetAttrString(type, method));
    python::OwnedRef number;
    if (function && !PyFunction_Check(function.get())) {
        number = python::steal(PyObject_CallOneArg(function.get(), object));
    }
    PyErr_Clear();
    return number && PyLong_Check(number.get()) ? static_cast<int>(PyLong_AsLong(number.get()))
                                                : -1;
}

// The names of torch.distributed; nullptr if it is not imported.
PyObject* torch_names() {
    PyObject* const module =
        PyDict_GetItemString(PyImport_GetModuleDict(), "torch.distributed.distributed_c10d");
    return module != nullptr && PyModule_Check(module) ? PyModule_GetDict(module) : nullptr;
}

// The process group of all ranks; none unless torch.distributed is initialized.
python::OwnedRef default_group(PyObject* names) {
    PyObject* const world = PyDict_GetItemString(names, "_world");
    if (world == nullptr || Py_TYPE(world)->tp_getattro != PyObject_GenericGetAttr) {
        return {};
    }
    python::OwnedRef group = python::steal(PyObject_GetAttrString(world, "_default_pg"));
    return group.get() == Py_None ? python::OwnedRef() : std::move(group);
}

// torch.distributed.get_rank() and get_world_size() without running Python, which is not allowed
// in all places that need them.
JobRank rank_in_group(PyObject* group) {
    const JobRank found{.rank = number_from(group, "rank"),
                        .world_size = number_from(group, "size"),
                        .has_joined = true};
    return found.rank >= 0 && found.world_size > found.rank ? found : JobRank();
}

// Whether torch.distributed was initialized with the environment variables; also after
// destroy_process_group(), which leaves this name.
bool has_used_environment(PyObject* names) {
    PyObject* const method = PyDict_GetItemString(names, "_default_pg_init_method");
    return method != nullptr && PyUnicode_Check(method) &&
           PyUnicode_CompareWithASCIIString(method, "env://") == 0;
}

}  // namespace

JobRank job_rank() {
    // Of torch.distributed, in case the program destroys its process group before the report is
    // written. Protected by StateLock.
    static JobRank last;
    const python::ErrorStash stash;
    PyObject* const names = torch_names();
    const python::OwnedRef group = names != nullptr ? default_group(names) : python::OwnedRef();
    PyErr_Clear();
    const JobRank found = group ? rank_in_group(group.get()) : JobRank();
    // A program may make a group of one process for itself, whatever its rank in the job.
    if (found.world_size > 1) {
        last = found;
        return last;
    }
    JobRank set = rank_in_environment();
    if (set.rank < 0) {
        return last;
    }
    set.has_joined = last.has_joined || (!group && names != nullptr && has_used_environment(names));
    return set;
}

}  // namespace cyclewatch::watch
