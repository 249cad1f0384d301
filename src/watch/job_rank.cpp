// SPDX-License-Identifier: Apache-2.0
#include "watch/job_rank.h"

#include <Python.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
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

// Whether the environment with which a process started has the variable `name`. Nothing if it
// cannot be read.
std::optional<bool> started_with(const std::string& process, const std::string& name) {
    std::ifstream file("/proc/" + process + "/environ", std::ios::binary);
    if (!file) {
        return std::nullopt;
    }
    for (std::string variable; std::getline(file, variable, '\0');) {
        if (variable.starts_with(name + '=')) {
            return true;
        }
    }
    return false;
}

// Whether a process runs a Python interpreter. True if that cannot be determined.
bool runs_python(const std::string& process) {
    std::error_code error;
    const auto program = std::filesystem::read_symlink("/proc/" + process + "/exe", error);
    return error || program.filename().string().starts_with("python");
}

// Whether this process got RANK from its parent, and the parent did not get it from its own: as
// from torchrun, but not from a rank. A rank may set RANK itself, for torch.distributed, before it
// starts helpers. Therefore, of launchers that are written in Python, only those based on
// torch.distributed.elastic are known. Looks once: the parent may end first.
bool is_launched_rank() {
    static const bool is_launched = [] {
        const std::string parent = std::to_string(::getppid());
        return started_with("self", "RANK").value_or(false) &&
               !started_with(parent, "RANK").value_or(true) &&
               (started_with("self", "TORCHELASTIC_RUN_ID").value_or(false) ||
                !runs_python(parent));
    }();
    return is_launched;
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

// The process group of all ranks; none unless torch.distributed is initialized. `names`: may be
// null.
python::OwnedRef default_group(PyObject* names) {
    PyObject* const world = names == nullptr ? nullptr : PyDict_GetItemString(names, "_world");
    if (world == nullptr || Py_TYPE(world)->tp_getattro != PyObject_GenericGetAttr) {
        return {};
    }
    python::OwnedRef group = python::steal(PyObject_GetAttrString(world, "_default_pg"));
    PyErr_Clear();
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

// Whether torch.distributed is or was initialized with an address: destroy_process_group() leaves
// this name. `names`: may be null.
bool has_address(PyObject* names) {
    PyObject* const method =
        names == nullptr ? nullptr : PyDict_GetItemString(names, "_default_pg_init_method");
    return method != nullptr && PyUnicode_Check(method);
}

// Protected by StateLock.
struct State {
    JobRank last;  // in case the program destroys its process group before the report is written
    PyObject* inherited_group = nullptr;  // of the parent process; only compared
    bool inherited_address = false;
    bool is_forked = false;
};

State& state() {
    static State state;
    return state;
}

}  // namespace

JobRank job_rank() {
    const python::ErrorStash stash;
    PyObject* const names = torch_names();
    const python::OwnedRef group = default_group(names);
    const bool has_group = group && group.get() != state().inherited_group;
    const JobRank found = has_group ? rank_in_group(group.get()) : JobRank();
    // A program may make a group of one process for itself, whatever its rank in the job.
    if (found.world_size > 1) {
        state().last = found;
        return found;
    }
    JobRank set = rank_in_environment();
    if (set.rank < 0) {
        return state().last;
    }
    const bool had_group = !group && has_address(names) && !state().inherited_address;
    const bool is_launched = !state().is_forked && is_launched_rank();
    set.has_joined = state().last.has_joined || had_group || is_launched;
    return set;
}

void leave_job() {
    const python::ErrorStash stash;
    PyObject* const names = torch_names();
    const python::OwnedRef group = default_group(names);
    state() = {.last = {},
               .inherited_group = group.get(),
               .inherited_address = has_address(names),
               .is_forked = true};
}

}  // namespace cyclewatch::watch
