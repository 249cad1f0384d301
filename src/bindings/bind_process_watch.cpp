// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "bindings/bind.h"
#include "bindings/callbacks.h"
#include "bindings/values.h"
#include "watch/dispatcher.h"
#include "watch/failure_hooks.h"
#include "watch/main_thread_timer.h"
#include "watch/notification_queue.h"
#include "watch/oom_observer.h"
#include "watch/usage_sampler.h"

namespace cyclewatch::bindings {
namespace {

using watch::Dispatcher;

std::atomic<int> failure_status{0};

// Registered before the program starts, so it runs after the program's own exit handlers.
void replace_exit_status(int status, void* /*unused*/) {
    if (status == 0 && failure_status != 0) {
        std::fflush(nullptr);
        ::_exit(failure_status);
    }
}

void bind_steps_and_calls(py::module_& module) {
    module.def(
        "call_soon",
        [](py::object function, const py::args& /*ignored*/) {
            watch::post([callback = Callback(std::move(function))] { callback.call(); });
        },
        Locked(),
        py::arg("function"),
        "Calls `function` on the main thread as soon as it may run Python code, like the callbacks "
        "of watches. Other arguments are ignored, so that functools.partial(call_soon, function) "
        "can be an entry of gc.callbacks.");
    module.def(
        "note_step",
        [](std::int64_t number, bool counted) {
            Dispatcher::instance().note_step(number, counted);
        },
        Locked(),
        py::arg("number"),
        py::arg("counted"),
        "Sets the step of all watches. `counted`: by cyclewatch, not by the program.");
    module.def(
        "selects_device",
        [](const std::vector<std::string>& devices,
           const std::string& device,
           bool accelerator_usable) {
            return selected(devices).matches(device, accelerator_usable);
        },
        py::arg("devices"),
        py::arg("device"),
        py::arg("accelerator_usable"));
}

}  // namespace

void observe_failures() {
    device::OwnerRegistry& registry = Dispatcher::instance().registry();
    if (watch::can_install_failure_hooks()) {
        registry.refresh();
        if (registry.expects_owners()) {
            watch::install_failure_hooks();
        }
    }
    watch::attach_oom_observer();
}

void bind_process_watch(py::module_& module) {
    bind_steps_and_calls(module);
    module.def(
        "call_every",
        [](double seconds, double share, const py::object& function) {
            watch::call_every(std::chrono::duration<double>(seconds), share, function.ptr());
        },
        Locked(),
        py::arg("seconds"),
        py::arg("share"),
        py::arg("function"));
    module.def(
        "set_oom_handler",
        [](const py::object& handler) {
            watch::set_oom_handler(handler.is_none() ? nullptr : handler.ptr());
        },
        Locked(),
        py::arg("handler"));
    module.def("attach_oom_observer", &watch::attach_oom_observer, Locked());
    module.def(
        "set_failure_handler",
        [](const py::object& handler) {
            watch::set_failure_handler(handler.is_none() ? nullptr : handler.ptr());
            observe_failures();
        },
        Locked(),
        py::arg("handler"),
        "Sets the function that is called with each exception that ends the program or a thread.");
    module.def("stop_calls", &watch::stop_calls, Locked());
    module.def(
        "before_fork",
        [] {
            watch::pause_usage_samples();
            watch::Dispatcher::instance().before_fork();
        },
        Locked());
    module.def("after_fork_in_parent", &watch::resume_usage_samples, Locked());
    module.def(
        "after_fork_in_child",
        [] { watch::Dispatcher::instance().after_fork_in_child(); },
        Locked());
    module.def(
        "offer_failure",
        [] { ::on_exit(&replace_exit_status, nullptr); },
        "Registers the exit handler that fail() requires; call before the program starts.");
    module.def(
        "fail",
        [](int status) { failure_status = status; },
        py::arg("status"),
        "Makes the process exit with `status` if it would otherwise exit with status 0. Requires "
        "offer_failure().");
}

}  // namespace cyclewatch::bindings
