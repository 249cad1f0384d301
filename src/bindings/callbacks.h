// SPDX-License-Identifier: Apache-2.0
// Python functions that C++ calls: the callbacks of watches.
//
// REQUIRES (everything here): GIL held.
#pragma once

#include <pybind11/pybind11.h>

#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "python/forced_unwind.h"
#include "python/guards.h"
#include "python/state_lock.h"
#include "watch/watch.h"

namespace cyclewatch::bindings {

namespace py = pybind11;

// A Python callable. Copies of a Callback share one strong reference, so copying does not change
// the reference count of the callable.
class Callback {
  public:
    explicit Callback(py::object function)
        : function_(std::make_shared<const py::object>(std::move(function))) {}

    // Like call(), for functions of this package: the program's tracer does not see them.
    template <typename Result = py::object, typename... Arguments>
    Result call_untraced(Arguments&&... arguments) const {
        const python::TracingPause pause;
        return call<Result>(std::forward<Arguments>(arguments)...);
    }

    // Calls the function, possibly from a pending call (Py_AddPendingCall()). A pending call has no
    // Python caller, so exceptions derived from Exception are passed to sys.unraisablehook.
    // KeyboardInterrupt, SystemExit and other BaseExceptions stay pending.
    template <typename Result = py::object, typename... Arguments>
    Result call(Arguments&&... arguments) const {
        try {
            const py::tuple call_arguments = py::make_tuple(std::forward<Arguments>(arguments)...);
            PyObject* const result = python::let_others_run(
                [&] { return PyObject_CallObject(function_->ptr(), call_arguments.ptr()); });
            if (result == nullptr) {
                throw py::error_already_set();
            }
            return py::reinterpret_steal<py::object>(result).template cast<Result>();
        } catch (py::error_already_set& error) {
            error.restore();
            if (PyErr_ExceptionMatches(PyExc_Exception) != 0) {
                const python::StateRelease release;
                PyErr_WriteUnraisable(function_->ptr());
            }
        } catch (const std::exception&) {
            PyErr_Clear();  // out of memory while converting arguments or the result
        }
        return {};
    }

  private:
    std::shared_ptr<const py::object> function_;
};

// Decodes like os.fsdecode(), because a file name is not necessarily valid UTF-8.
[[nodiscard]] py::str path_text(const std::string& path);
[[nodiscard]] py::list path_texts(const std::vector<std::string>& paths);
[[nodiscard]] py::object path_or_none(const std::string& path);

// The callbacks of a watch; each may be None.
struct PythonListeners {
    py::object on_finding = py::none();
    py::object on_report = py::none();
    py::object read_source = py::none();
    py::object on_log = py::none();
    py::object find_switch = py::none();
    py::object find_allocations = py::none();
};
[[nodiscard]] watch::Listeners listeners(PythonListeners functions);

}  // namespace cyclewatch::bindings
