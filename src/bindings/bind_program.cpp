// SPDX-License-Identifier: Apache-2.0
// Each run_* calls what the interpreter's own main() calls, so that compiling, tracebacks,
// sys.excepthook, SystemExit and what becomes of __main__ need no imitation. They return where the
// interpreter's prompt follows the program (python -i). Otherwise the interpreter is finalised and
// the process ends, as main() does it, and not a line of ours runs after the program's last one.
#include "bindings/bind_program.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "bindings/locked.h"
#include "compat/call_stack.h"
#include "watch/collect_timer.h"

namespace py = pybind11;

namespace cyclewatch::bindings {
namespace {

// While it lives, the calls that led here neither show nor count against the recursion limit: the
// program has the stack to itself, as under main().
class EmptyStack {
  public:
    // `more` calls than the limit says, for what is ours.
    explicit EmptyStack(int more = 0) : callers_(cyclewatch_hide_callers(more)) {}
    ~EmptyStack() { cyclewatch_show_callers(callers_); }
    EmptyStack(const EmptyStack&) = delete;
    EmptyStack& operator=(const EmptyStack&) = delete;

  private:
    const cyclewatch_callers callers_;
};

// Ends the process as the interpreter ends it after a KeyboardInterrupt that nobody caught: by
// the signal, so that a shell sees what happened.
[[noreturn]] void end_by_interrupt() {
    Py_FinalizeEx();
    std::signal(SIGINT, SIG_DFL);
    ::kill(::getpid(), SIGINT);
    std::_Exit(128 + SIGINT);
}

// A field of sys.flags.
bool is_set(const char* flag) {
    PyObject* const flags = PySys_GetObject("flags");
    return flags != nullptr && py::handle(flags).attr(flag).cast<int>() != 0;
}

// As main() decides it, after the program: that may have set the variable.
bool prompt_follows() {
    const char* const variable = is_set("ignore_environment") ? nullptr : getenv("PYTHONINSPECT");
    const bool asked_for = is_set("inspect") || (variable != nullptr && *variable != '\0');
    return asked_for && (::isatty(::fileno(stdin)) != 0 || is_set("interactive"));
}

// The end of a run_*, while the stack is the program's.
void end_as_main(bool ended_well) {
    if (prompt_follows()) {
        return;
    }
    if (!ended_well && PySys_GetObject("last_type") == PyExc_KeyboardInterrupt) {
        end_by_interrupt();
    }
    Py_Exit(ended_well ? 0 : 1);
}

void run_file(const py::bytes& path) {
    const std::string name = path;
    FILE* const file = std::fopen(name.c_str(), "rbe");
    if (file == nullptr) {
        PyErr_SetFromErrnoWithFilename(PyExc_OSError, name.c_str());
        throw py::error_already_set();
    }
    const EmptyStack stack;
    PyCompilerFlags flags = _PyCompilerFlags_INIT;
    end_as_main(PyRun_SimpleFileExFlags(file, name.c_str(), /*closeit=*/1, &flags) == 0);
}

void run_standard_input() {
    const EmptyStack stack;
    PyCompilerFlags flags = _PyCompilerFlags_INIT;
    end_as_main(PyRun_AnyFileExFlags(stdin, "<stdin>", /*closeit=*/0, &flags) == 0);
}

void run_command(const py::bytes& source) {
    const std::string text = source;
    const EmptyStack stack;
    PyCompilerFlags flags = _PyCompilerFlags_INIT;
    flags.cf_flags |= PyCF_IGNORE_COOKIE;
    end_as_main(PyRun_SimpleStringFlags(text.c_str(), &flags) == 0);
}

void run_module(const std::string& name, bool set_argv) {
    // runpy's frames stand in the traceback of `python -m` as well.
    const py::object run = py::module_::import("runpy").attr("_run_module_as_main");
    const EmptyStack stack;
    auto result = py::reinterpret_steal<py::object>(
        PyObject_CallFunction(run.ptr(), "sO", name.c_str(), set_argv ? Py_True : Py_False));
    const bool ended_well = static_cast<bool>(result);
    if (!ended_well) {
        PyErr_Print();
    }
    result = {};  // the program's names, which go before the interpreter does
    end_as_main(ended_well);
}

// While it lives, the program's tracers and profilers see nothing.
class Untraced {
  public:
    Untraced() { PyThreadState_EnterTracing(PyThreadState_Get()); }
    ~Untraced() { PyThreadState_LeaveTracing(PyThreadState_Get()); }
    Untraced(const Untraced&) = delete;
    Untraced& operator=(const Untraced&) = delete;
};

constexpr int kCallsOfOurs = 200;  // as if the program had set no limit that is lower

// A function of ours that is called amid the program, or after its end.
py::cpp_function unseen(const py::function& function) {
    return [function](const py::args& arguments) {
        const EmptyStack stack(kCallsOfOurs);
        const Untraced untraced;
        return function(*arguments);
    };
}

std::atomic<int> least_status{0};

// Runs after every other exit handler: it was registered before the program began.
void raise_status(int status, void* /*unused*/) {
    if (status == 0 && least_status != 0) {
        std::fflush(nullptr);
        ::_exit(least_status);
    }
}

}  // namespace

void bind_program(py::module_& module) {
    module.def("run_file", &run_file, py::arg("path"));
    module.def("run_standard_input", &run_standard_input);
    module.def("run_command", &run_command, py::arg("source"), "`source`: UTF-8.");
    module.def("unseen",
               &unseen,
               py::arg("function"),
               "`function`, called without a trace on the stack and in tracers and profilers.");
    module.def("run_module",
               &run_module,
               py::arg("name"),
               py::arg("set_argv"),
               "`set_argv`: sys.argv[0] becomes the module's file, as with -m.");
    module.def("end_by_interrupt",
               &end_by_interrupt,
               "Finalises the interpreter and ends the process by SIGINT. Does not return.");
    module.def(
        "collect_every",
        [](double seconds, const py::object& collect) {
            watch::collect_every(std::chrono::duration<double>(seconds), collect.ptr());
        },
        Locked(),
        py::arg("seconds"),
        py::arg("collect"));
    module.def("stop_collecting", &watch::stop_collecting, Locked());
    module.def(
        "offer_failure",
        [] { ::on_exit(&raise_status, nullptr); },
        "Makes fail() possible; to be called before the program begins.");
    module.def(
        "fail",
        [](int status) { least_status = status; },
        py::arg("status"),
        "The process will end with this status instead of 0. REQUIRES: offer_failure().");
}

}  // namespace cyclewatch::bindings
