// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/text.h"
#include "bindings/bind.h"
#include "bindings/values.h"
#include "python/forced_unwind.h"
#include "python/guards.h"
#include "python/layout_check.h"
#include "python/state_lock.h"
#include "render/renderer.h"
#include "report/report_store.h"
#include "report/source_table.h"
#include "watch/dispatcher.h"
#include "watch/failure_hooks.h"
#include "watch/main_thread_timer.h"
#include "watch/notification_queue.h"
#include "watch/oom_observer.h"
#include "watch/owner_census.h"
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
py::str path_text(const std::string& path) {
    PyObject* const text =
        PyUnicode_DecodeFSDefaultAndSize(path.data(), static_cast<Py_ssize_t>(path.size()));
    if (text == nullptr) {
        throw py::error_already_set();
    }
    return py::reinterpret_steal<py::str>(text);
}

py::list path_texts(const std::vector<std::string>& paths) {
    py::list texts;
    for (const std::string& path : paths) {
        texts.append(path_text(path));
    }
    return texts;
}

py::object path_or_none(const std::string& path) {
    return path.empty() ? py::object(py::none()) : py::object(path_text(path));
}

// Converts the result of cyclewatch.memory_recording.allocation_stacks().
watch::AllocationStacks stacks_from(const py::object& answer) {
    watch::AllocationStacks found;
    if (!answer || answer.is_none()) {
        return found;
    }
    found.is_recorded = true;
    if (py::isinstance<py::str>(answer)) {
        found.failure = answer.cast<std::string>();
        return found;
    }
    using Frame = std::tuple<std::string, std::uint32_t, std::string>;
    for (const auto& stack : answer.cast<std::vector<std::vector<Frame>>>()) {
        std::vector<watch::StackFrame>& frames = found.stacks.emplace_back();
        for (const auto& [path, line, function] : stack) {
            frames.push_back({.path = path, .line = line, .function = function});
        }
    }
    return found;
}

watch::Listeners listeners(py::object on_finding,
                           py::object on_report,
                           py::object read_source,
                           py::object on_log,
                           py::object find_switch,
                           py::object find_allocations) {
    watch::Listeners result;
    if (!find_allocations.is_none()) {
        result.find_allocations = [callback = Callback(std::move(find_allocations))](
                                      const std::vector<watch::CollectedStorage>& storages) {
            py::list questions;
            for (const watch::CollectedStorage& each : storages) {
                questions.append(py::make_tuple(each.device,
                                                each.address,
                                                each.bytes,
                                                each.released,
                                                each.unreachable,
                                                each.settled));
            }
            return stacks_from(callback.call(questions));
        };
    }
    if (!find_switch.is_none()) {
        result.find_switch = [callback = Callback(std::move(find_switch))](bool frozen) {
            return callback.call_untraced<std::string>(frozen);
        };
    }
    if (!read_source.is_none()) {
        result.read_source = [callback = Callback(std::move(read_source))](
                                 const std::vector<std::string>& locations) {
            using Lines = report::SourceLines::mapped_type;
            const auto found = callback.call_untraced<std::vector<Lines>>(path_texts(locations));
            report::SourceLines lines;
            for (std::size_t i = 0; i < std::min(found.size(), locations.size()); ++i) {
                if (!found[i].second.empty()) {
                    lines.emplace(locations[i], found[i]);
                }
            }
            return lines;
        };
    }
    if (!on_finding.is_none()) {
        result.on_finding =
            [callback = Callback(std::move(on_finding))](
                const model::Finding& finding, const std::string& path, bool again) {
                callback.call_untraced(
                    std::make_shared<model::Finding>(finding), path_or_none(path), again);
            };
    }
    if (!on_report.is_none()) {
        result.on_report = [callback = Callback(std::move(on_report))](
                               const std::shared_ptr<const model::Report>& report) {
            callback.call(std::make_shared<model::Report>(*report));
        };
    }
    if (!on_log.is_none()) {
        result.on_log = [callback = Callback(std::move(on_log))](int level,
                                                                 const std::string& message) {
            callback.call_untraced(level, base::clean_text(message));
        };
    }
    return result;
}

NativeWatch start_watch(const std::vector<std::string>& devices,
                        const std::vector<std::string>& formats,
                        const std::optional<std::string>& report_dir,
                        std::string report_name,
                        bool replace_report,
                        bool clean_report,
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
    settings.exit_scan = exit_scan;
    settings.min_bytes = min_bytes;
    settings.budget = budget;
    settings.capture_values = capture_values;
    settings.listeners =
        listeners(on_finding, on_report, read_source, on_log, find_switch, find_allocations);
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

void bind_compat(py::module_& module) {
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

std::vector<std::string> failures_in(const py::dict& layout) {
    return layout.contains("failures") ? layout["failures"].cast<std::vector<std::string>>()
                                       : std::vector<std::string>();
}

watch::Settings scan_settings(const std::vector<std::string>& devices,
                              const py::object& read_source) {
    watch::Settings settings;
    settings.devices = selected(devices);
    settings.listeners =
        listeners(py::none(), py::none(), read_source, py::none(), py::none(), py::none());
    return settings;
}

// For cyclewatch.dump_snapshot() and Census.save().
void bind_lists(py::module_& module) {
    module.def(
        "census_report",
        [](const std::vector<std::shared_ptr<model::LiveOwner>>& owners) {
            const auto watch = std::make_shared<Watch>(watch::Settings{});
            auto report = std::make_shared<model::Report>(watch->report());
            std::vector<model::LiveOwner>& listed = report->live_owners.emplace();
            for (const auto& owner : owners) {
                listed.push_back(*owner);
                listed.back().process = 0;  // this process
            }
            report->censuses = {{model::CensusTime{.at = report->stats.elapsed}}};
            return report;
        },
        Locked(),
        py::arg("owners"),
        "Returns a report without findings that contains these groups of live owners.");
    module.def(
        "scan_storages",
        [](const std::vector<std::string>& devices, const py::object& read_source) {
            watch::ScanResult found =
                Dispatcher::instance().scan(scan_settings(devices, read_source), {2, true});
            py::list storages;
            for (const watch::ReportedStorage& each : found.storages) {
                storages.append(py::make_tuple(each.device,
                                               each.storage,
                                               each.bytes,
                                               model::word_of(each.state),
                                               each.signatures));
            }
            return py::make_tuple(std::make_shared<model::Report>(std::move(found.report)),
                                  storages);
        },
        Locked(),
        py::arg("devices"),
        py::arg("read_source"),
        "Returns the report of a scan of all objects, and for each storage of its findings: "
        "device, address, bytes, Finding.collected, signatures.");
}

void bind_scan(py::module_& module) {
    module.def(
        "scan",
        [](int generation,
           bool frozen,
           const std::vector<std::string>& devices,
           const py::object& read_source,
           std::size_t live_owners) {
            auto report = std::make_shared<model::Report>(
                Dispatcher::instance()
                    .scan(scan_settings(devices, read_source), {generation, frozen})
                    .report);
            if (live_owners > 0) {
                watch::CensusSettings census;
                census.top = live_owners;
                census.show_keys = false;
                report->live_owners = Dispatcher::instance().live_owners(census);
                report->censuses = {{model::CensusTime{.at = report->stats.elapsed}}};
            }
            return report;
        },
        Locked(),
        py::arg("generation"),
        py::arg("frozen"),
        py::arg("devices"),
        py::arg("read_source"),
        py::arg("live_owners") = 0,
        "`live_owners`: the maximum number of groups of reachable owners in the report.");
    module.def(
        "never_freed",
        [](const std::vector<std::string>& devices,
           const py::object& read_source,
           const py::dict& layout,
           int settle,
           watch::ReportedStorages* known) {
            return std::make_shared<model::Report>(
                Dispatcher::instance().never_freed(scan_settings(devices, read_source),
                                                   layout_from(layout),
                                                   failures_in(layout),
                                                   settle,
                                                   known));
        },
        Locked(),
        py::arg("devices"),
        py::arg("read_source"),
        py::arg("layout"),
        py::arg("settle"),
        py::arg("known") = py::none(),
        "`layout`: the result of cyclewatch.torch_proof.torch_layout(). `known`: storages to omit, "
        "to which the search adds those that it reports.");
    module.def(
        "dead_bytes",
        [](int generation, bool frozen, bool with_unexplained) {
            return Dispatcher::instance().dead_bytes(
                watch::Settings{}, {generation, frozen}, with_unexplained);
        },
        Locked());
}

// The program may have imported a library or initialized CUDA since the last call.
void observe_failures() {
    device::OwnerRegistry& registry = Dispatcher::instance().registry();
    if (watch::can_install_failure_hooks()) {
        registry.refresh();
        if (!registry.empty()) {
            watch::install_failure_hooks();
        }
    }
    watch::attach_oom_observer();
}

py::dict metrics(Watch& watch) {
    watch.forget_freed_storages(false);
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
            "finish",
            [](const NativeWatch& self) {
                Dispatcher::instance().finish(self.watch);
                raise_pending();
            },
            Locked(),
            "Stops the watch at the end of the program: first scans the heap and writes a report "
            "without findings, as start_watch() was told.")
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
            "Returns the values of cyclewatch.metric_table, by name.");
}

void add_account(const NativeWatch& self,
                 std::string device,
                 const std::string& occasion,
                 std::uint64_t in_use,
                 std::optional<std::uint64_t> total,
                 std::string source,
                 std::optional<std::uint64_t> peak,
                 std::string headline,
                 const std::vector<std::tuple<std::string, std::string, std::int64_t>>& lines,
                 std::vector<std::string> signatures,
                 const std::vector<std::shared_ptr<model::LiveOwner>>& holders) {
    model::MemoryAccount account;
    account.device = std::move(device);
    account.occasion = model::from_word<model::AccountOccasion>(occasion).value();
    account.in_use = in_use;
    account.total = total.value_or(0);
    account.source = std::move(source);
    account.peak = peak.value_or(0);
    account.headline = std::move(headline);
    for (const auto& [kind, use, bytes] : lines) {
        account.lines.push_back({.kind = kind, .use = use, .bytes = bytes});
    }
    account.signatures = std::move(signatures);
    for (const auto& holder : holders) {
        account.holders.push_back(*holder);
    }
    self.watch->add_account(std::move(account));
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
            "take_census",
            [](const NativeWatch& self) { Dispatcher::instance().take_census(self.watch); },
            Locked())
        .def("add_account",
             &add_account,
             Locked(),
             py::arg("device"),
             py::arg("occasion"),
             py::arg("in_use"),
             py::arg("total"),
             py::arg("source"),
             py::arg("peak"),
             py::arg("headline"),
             py::arg("lines"),
             py::arg("signatures"),
             py::arg("holders"),
             "Adds an account to the report. `lines`: kind, use and bytes.")
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

std::atomic<int> failure_status{0};

// Registered before the program starts, so it runs after the program's own exit handlers.
void replace_exit_status(int status, void* /*unused*/) {
    if (status == 0 && failure_status != 0) {
        std::fflush(nullptr);
        ::_exit(failure_status);
    }
}

void bind_process_watch(py::module_& module) {
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
    module.def("pause_usage_samples", &watch::pause_usage_samples, Locked());
    module.def("resume_usage_samples", &watch::resume_usage_samples, Locked());
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
    bind_scan(module);
    bind_lists(module);
    bind_compat(module);
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
