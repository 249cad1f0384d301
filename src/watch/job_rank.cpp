// SPDX-License-Identifier: Apache-2.0
#include "watch/job_rank.h"

#include <Python.h>

#include <charconv>
#include <cstdlib>
#include <optional>
#include <string_view>

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

// torch.distributed.get_rank() and get_world_size() without running Python, which is not allowed
// in all places that need them. Nothing if the group has one process: the program may have made it
// for itself, whatever its rank in the job.
std::optional<JobRank> rank_in_torch() {
    PyObject* const module =
        PyDict_GetItemString(PyImport_GetModuleDict(), "torch.distributed.distributed_c10d");
    if (module == nullptr || !PyModule_Check(module)) {
        return std::nullopt;
    }
    PyObject* const world = PyDict_GetItemString(PyModule_GetDict(module), "_world");
    if (world == nullptr || Py_TYPE(world)->tp_getattro != PyObject_GenericGetAttr) {
        return std::nullopt;
    }
    const python::OwnedRef group = python::steal(PyObject_GetAttrString(world, "_default_pg"));
    if (!group || group.get() == Py_None) {
        return std::nullopt;
    }
    const JobRank found{.rank = number_from(group.get(), "rank"),
                        .world_size = number_from(group.get(), "size")};
    const bool is_known = found.rank >= 0 && found.world_size > found.rank;
    return is_known && found.world_size > 1 ? std::optional(found) : std::nullopt;
}

}  // namespace

JobRank job_rank() {
    // Of torch.distributed, in case the program destroys its process group before the report is
    // written. Protected by StateLock.
    static JobRank last;
    const python::ErrorStash stash;
    if (const std::optional<JobRank> found = rank_in_torch()) {
        last = *found;
        return last;
    }
    PyErr_Clear();
    const JobRank set = rank_in_environment();
    return set.rank >= 0 ? set : last;
}

}  // namespace cyclewatch::watch
