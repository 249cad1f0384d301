// SPDX-License-Identifier: Apache-2.0
// The entry point of the extension module.
#include <pthread.h>
#include <pybind11/pybind11.h>

#include <cstddef>
#include <new>
#include <string>

#include "bindings/bind.h"
#include "compat/features.h"

namespace {

using Internals = pybind11::detail::internals;

// CPython 3.12 and later reject this module in isolated subinterpreters, but import it in legacy
// ones. On 3.11, pybind11 would deadlock waiting for the GIL of the main interpreter, which the
// importing thread holds.
bool in_subinterpreter() {
    return PyInterpreterState_Get() != PyInterpreterState_Main();
}

// The ImportError message if this interpreter is not supported, otherwise null.
const char* unsupported_reason() {
    if (in_subinterpreter()) {
        return "module cyclewatch._native does not support loading in subinterpreters";
    }
    if (!CYCLEWATCH_CAN_WATCH) {
        return "cyclewatch does not support this free-threaded version of CPython; use 3.14t or a "
               "build with the GIL";
    }
    return nullptr;
}

// Makes pickle and copy raise TypeError. With old pickle protocols, the default implementation
// creates an instance without its C++ object, and using that instance crashes.
void disable_pickling(pybind11::module_& module) {
    const auto raise = [](const pybind11::object& self, const pybind11::args&) {
        throw pybind11::type_error("cannot pickle or copy " +
                                   pybind11::type::of(self).attr("__name__").cast<std::string>() +
                                   " objects; use Report.save() and Report.load()");
    };
    PyTypeObject* const metaclass = pybind11::detail::get_internals().default_metaclass;
    for (const auto& [name, value] : pybind11::dict(module.attr("__dict__"))) {
        if (Py_IS_TYPE(value.ptr(), metaclass)) {
            for (const char* method : {"__reduce__", "__reduce_ex__"}) {
                value.attr(method) = pybind11::cpp_function(
                    raise, pybind11::name(method), pybind11::is_method(value));
            }
        }
    }
}

Internals* pybind11_internals = nullptr;

// pybind11's own locks exist on free-threaded builds only.
template <typename State>
void reset_locks(State& internals) {
    if constexpr (requires { internals.instance_shards; }) {
        const auto reset = []<typename Lock>(Lock& lock) { new (&lock) Lock; };
        reset(internals.mutex);
        reset(internals.exception_translator_mutex);
        for (std::size_t i = 0; i <= internals.instance_shards_mask; ++i) {
            reset(internals.instance_shards[i].mutex);
        }
    }
}

// In a forked child, pybind11's locks may be held by threads that no longer exist.
void reset_locks_after_fork() {
    pybind11_internals = &pybind11::detail::get_internals();
    pthread_atfork(nullptr, nullptr, [] { reset_locks(*pybind11_internals); });
}

}  // namespace

// Called by PyInit__native() after it has checked that the interpreter is supported. The name of
// this function does not matter, because Python takes the module's name from the module spec.
PYBIND11_MODULE(_native_if_supported, module, pybind11::mod_gil_not_used()) {
    // Checked again in the importing interpreter, because CPython 3.13 and later call every PyInit
    // function in the main interpreter.
    if (const char* const reason = unsupported_reason()) {
        throw pybind11::import_error(reason);
    }
    module.doc() = "Implementation of the package cyclewatch; not public.";
    module.attr("__version__") = CYCLEWATCH_VERSION;
    reset_locks_after_fork();
    cyclewatch::bindings::bind_catalog(module);
    cyclewatch::bindings::bind_report(module);
    cyclewatch::bindings::bind_field_table(module);
    cyclewatch::bindings::bind_retention(module);
    cyclewatch::bindings::bind_watch(module);
    disable_pickling(module);
}

extern "C" PYBIND11_EXPORT PyObject* PyInit__native() {  // NOLINT(readability-identifier-naming)
    if (const char* const reason = unsupported_reason()) {
        PyErr_SetString(PyExc_ImportError, reason);
        return nullptr;
    }
    return PyInit__native_if_supported();
}
