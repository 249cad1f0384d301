// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings/bind.h"
#include "bindings/callbacks.h"
#include "bindings/values.h"
#include "python/guards.h"
#include "python/layout_check.h"
#include "python/state_lock.h"
#include "render/renderer.h"
#include "report/report_store.h"
#include "watch/dispatcher.h"
#include "watch/job_rank.h"
#include "watch/main_thread_timer.h"
#include "watch/program_info.h"
#include "watch/usage_sampler.h"

namespace cyclewatch::bindings {
namespace {

using watch::Dispatcher;
using watch::Watch;

// The Python handle of a watch. Destroying the handle does not stop the watch.
struct NativeWatch {
    std::shared_ptr<Watch> watch;
};

// Throws the pending Python exception, if a callback has left one.
void raise_pending() {
    if (PyErr_Occurred() != nullptr) {
        throw py::error_already_set();
    }
}

std::vector<render::Format> formats_from(const std::vector<std::string>& names) {
    std::vector<render::Format> formats;
    for (const std::string& name : names) {
        const std::optional<render::Format> format = render::format_from_name(name);
        if (!format) {
            std::string known;
            for (const std::string& each : render::format_names()) {
                known += (known.empty() ? "" : ", ") + each;
            }
            throw py::value_error("unknown format " + quoted(name) + "; valid formats: " + known);
        }
        formats.push_back(*format);
    }
    return formats;
}

NativeWatch start_watch(const std::vector<std::string>& devices,
                        const std::vector<std::string>& formats,
                        const std::optional<std::string>& report_dir,
                        std::string report_name,
                        bool replace_report,
                        bool clean_report,
                        bool is_worker,
                        bool exit_scan,
                        std::uint64_t min_bytes,
                        double budget,
                        bool capture_values,
                        const std::optional<int>& scan_every,
                        int census_every,
                        bool repeat_each,
                        const std::optional<std::pair<std::int64_t, std::int64_t>>& steps,
                        bool follow_steps,
                        const py::object& on_finding,
                        const py::object& on_report,
                        const py::object& read_source,
                        const py::object& on_log,
                        const py::object& find_switch,
                        const py::object& find_allocations) {
    watch::Settings settings;
    settings.devices = selected(devices);
    settings.formats = formats_from(formats);
    settings.report_dir = report_dir.value_or("");
    settings.report_name = std::move(report_name);
    settings.replace_report = replace_report;
    settings.clean_report = clean_report;
    settings.is_worker = is_worker;
    settings.exit_scan = exit_scan;
    settings.min_bytes = min_bytes;
    settings.budget = budget;
    settings.capture_values = capture_values;
    settings.listeners =
        listeners({on_finding, on_report, read_source, on_log, find_switch, find_allocations});
    settings.scan_every = scan_every.value_or(watch::kScanIfNotCollected);
    settings.census_every = census_every;
    settings.repeat = repeat_each ? report::Repeat::each : report::Repeat::doubled;
    if (steps) {
        settings.steps = watch::StepRange{.first = steps->first, .last = steps->second};
    }
    settings.follow_steps = follow_steps;
    try {
        base::Result<std::shared_ptr<Watch>> started =
            Dispatcher::instance().start(std::move(settings));
        if (!started.ok()) {
            throw std::runtime_error(started.error());
        }
        return {std::move(started).value()};
    } catch (const python::Interrupted&) {
        throw py::error_already_set();
    }
}

py::dict metrics(Watch& watch) {
    watch.forget_freed_storages();
    std::uint64_t dead = 0;
    for (const auto& [device, bytes] : watch.reported().sizes()) {
        dead += bytes;
    }
    const model::Stats stats = watch.stats();
    std::uint64_t freed = 0;
    double seconds = 0;
    for (const model::GenerationTotals& each : stats.generations) {
        freed += each.freed_bytes;
        seconds += each.seconds;
    }
    py::dict values(py::arg("dead_bytes") = dead,
                    py::arg("freed_bytes") = freed,
                    py::arg("gc_seconds") = seconds,
                    py::arg("findings") = stats.findings);
    if (const auto& sizes = watch.census_sizes()) {
        values["parameter_bytes"] = sizes->parameter;
        values["gradient_bytes"] = sizes->gradient;
        values["optimizer_state_bytes"] = sizes->optimizer_state;
        values["saved_for_backward_bytes"] = sizes->saved_for_backward;
        values["activation_bytes"] = sizes->activation;
        values["other_bytes"] = sizes->other;
    }
    return values;
}

using NativeWatchClass = py::class_<NativeWatch>;

void bind_native_watch(NativeWatchClass& added) {
    added
        .def_property_readonly("active",
                               py::cpp_function(
                                   [](const NativeWatch& self) {
                                       return Dispatcher::instance().is_active(self.watch);
                                   },
                                   Locked()))
        .def(
            "stop",
            [](const NativeWatch& self) {
                Dispatcher::instance().stop(self.watch);
                raise_pending();
            },
            Locked(),
            "Stops the watch, delivers queued notifications and waits up to 10 s for the report "
            "file, with the GIL released.")
        .def(
            "scan_at_end",
            [](const NativeWatch& self) {
                Dispatcher::instance().scan_at_end(self.watch);
                raise_pending();
            },
            Locked(),
            "Scans the heap at the end of the program, if start_watch() was told to.")
        .def(
            "report",
            [](const NativeWatch& self) {
                Dispatcher::instance().refresh(self.watch);
                raise_pending();
                self.watch->read_source();
                raise_pending();
                if (Dispatcher::instance().is_active(self.watch)) {
                    self.watch->measure_devices();
                }
                return std::make_shared<model::Report>(self.watch->report());
            },
            Locked(),
            "Returns a snapshot of all findings so far.")
        .def(
            "stats",
            [](const NativeWatch& self) {
                Dispatcher::instance().refresh(self.watch);
                raise_pending();
                return self.watch->stats();
            },
            Locked())
        .def(
            "metrics",
            [](const NativeWatch& self) {
                Dispatcher::instance().refresh(self.watch);
                raise_pending();
                return metrics(*self.watch);
            },
            Locked(),
            "Returns the values of cyclewatch.export.metric_table, by name.");
}

void bind_steps_and_files(NativeWatchClass& added) {
    added
        .def(
            "step",
            [](const NativeWatch& self, std::int64_t number) {
                Dispatcher::instance().step(self.watch, number);
                observe_failures();
            },
            Locked(),
            py::arg("number"))
        .def(
            "find_never_freed",
            [](const NativeWatch& self, const py::dict& layout, int settle) {
                Dispatcher::instance().find_never_freed(
                    self.watch, layout_from(layout), failures_in(layout), settle);
            },
            Locked(),
            py::arg("layout"),
            py::arg("settle"))
        .def(
            "scan_if_not_collected",
            [](const NativeWatch& self) {
                Dispatcher::instance().scan_if_not_collected(self.watch);
            },
            Locked())
        .def(
            "scan_all",
            [](const NativeWatch& self) { Dispatcher::instance().scan_all(self.watch); },
            Locked())
        .def(
            "take_census",
            [](const NativeWatch& self) { Dispatcher::instance().take_census(self.watch); },
            Locked())
        .def(
            "add_account",
            [](const NativeWatch& self, const model::MemoryAccount& account) {
                self.watch->add_account(account);
            },
            Locked(),
            py::arg("account"),
            "Adds an account to the report.")
        .def(
            "flush",
            [](const NativeWatch& self, double seconds) { self.watch->flush(seconds); },
            Locked(),
            py::arg("seconds") = 10.0,
            "Waits until the report file is on disk.")
        .def(
            "report_paths",
            [](const NativeWatch& self) { return path_texts(self.watch->report_paths()); },
            Locked(),
            "Paths of the report files; empty before the first finding.")
        .def(
            "report_failures",
            [](const NativeWatch& self) { return path_texts(self.watch->report_failures()); },
            Locked(),
            "One sentence, without a final period, for each report file that could not be "
            "written.");
}

}  // namespace

device::DeviceSelection selected(const std::vector<std::string>& devices) {
    base::Result<device::DeviceSelection> selection = device::DeviceSelection::parse(devices);
    if (!selection.ok()) {
        throw py::value_error(selection.error());
    }
    return std::move(selection).value();
}

void bind_watch(py::module_& module) {
    NativeWatchClass native_watch(module, "NativeWatch", "A watch; readable after stop().");
    bind_native_watch(native_watch);
    bind_steps_and_files(native_watch);
    bind_process_watch(module);
    module.def(
        "report_stem",
        [] { return watch::report_stem(watch::describe_program()); },
        Locked(),
        "The default name of a report file, without the suffix.");
    module.def("machine",
               &watch::machine,
               "`ProgramInfo.host` of a program on this machine; \"\" if it is unknown.");
    module.def(
        "job_rank",
        [] {
            const watch::JobRank found = watch::job_rank();
            return py::make_tuple(found.rank, found.world_size, found.has_joined);
        },
        Locked(),
        "The rank of this process and the number of ranks, each -1 if unknown, and whether "
        "the process has joined a job of several (see JobRank).");
    bind_scan(module);
    bind_account(module);
    module.def("start_watch", &start_watch, Locked());
    module.def(
        "shutdown",
        [] {
            watch::stop_calls();
            Dispatcher::instance().end();
            watch::pause_usage_samples();
            raise_pending();
        },
        Locked(),
        "Finishes all watches, and stops the timers of call_every(). Registered with atexit.");
    module.def(
        "register_owner",
        [](const py::type& type, const py::object& reader) {
            Dispatcher::instance().registry().register_owner(
                reinterpret_cast<PyTypeObject*>(type.ptr()), reader.ptr());
        },
        Locked());
    module.def(
        "unregister_owner",
        [](const py::type& type) {
            return Dispatcher::instance().registry().unregister_owner(
                reinterpret_cast<PyTypeObject*>(type.ptr()));
        },
        Locked());
}

}  // namespace cyclewatch::bindings
