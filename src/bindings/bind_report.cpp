// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "bindings/bind.h"
#include "bindings/values.h"
#include "report/merge.h"

namespace cyclewatch::bindings {
namespace {

using CollectionClass =
    py::class_<model::CollectionRecord, std::shared_ptr<model::CollectionRecord>>;
using ProgramClass = py::class_<model::ProgramInfo, std::shared_ptr<model::ProgramInfo>>;

void bind_device_memory(py::module_& module) {
    using Self = model::DeviceMemory;
    py::class_<Self, std::shared_ptr<Self>> added(
        module,
        "DeviceMemory",
        "Memory in use on one device before and after a collection.\n\n"
        "Examples:\n"
        "    >>> [memory] = report.collections[0].device_memory\n"
        "    >>> memory.device, memory.source\n"
        "    ('cpu', 'process')");
    of_package(added)
        .def_readonly("device", &Self::device, "The device: 'cuda:0', 'cpu'.")
        .def_readonly("used_before",
                      &Self::used_before,
                      "Bytes in use before the collection freed the unreachable objects.")
        .def_readonly("used_after", &Self::used_after, "Bytes in use at the end of the collection.")
        .def_property_readonly("total",
                               int_or_none<0>(&Self::total),
                               "Capacity of the device in bytes; None if unknown.")
        .def_property_readonly("source",
                               word_of(&Self::source),
                               "Where the numbers come from: 'torch' (allocated by torch), 'cuda' "
                               "(all used memory of the device) or 'process' (resident set size "
                               "of the process).")
        .def("__repr__", [](const Self& self) {
            return "<DeviceMemory of " + quoted(self.device) + ": " +
                   base::format_bytes(self.used_before) + ", then " +
                   base::format_bytes(self.used_after) + ">";
        });
}

void bind_finding_part(py::module_& module) {
    using Self = model::FindingPart;
    py::class_<Self, std::shared_ptr<Self>> added(
        module,
        "FindingPart",
        "The occurrences of one finding in one collection.\n\n"
        "Examples:\n"
        "    >>> [part] = report.collections[0].findings\n"
        "    >>> part.signature == finding.signature, part.occurrences\n"
        "    (True, 1)");
    of_package(added)
        .def_readonly("signature", &Self::signature, "Signature of the finding.")
        .def_readonly("occurrences", &Self::occurrences, "Number of cycles that were unreachable.")
        .def_readonly("retained_bytes",
                      &Self::retained_bytes,
                      "Device bytes attributed to these cycles. The sum over all findings counts "
                      "each storage once.")
        .def("__repr__", [](const Self& self) {
            return "<FindingPart of " + quoted(self.signature) + ": " +
                   base::format_bytes(self.retained_bytes) + ">";
        });
}

void bind_collection(py::module_& module) {
    using Self = model::CollectionRecord;
    CollectionClass added(
        module,
        "Collection",
        "A garbage collection, or a scan, that found unreachable tensor owners.\n\n"
        "Examples:\n"
        "    >>> [collection] = report.collections\n"
        "    >>> collection.generation, collection.owners, collection.released_bytes\n"
        "    (2, 1, 4096)");
    of_package(added)
        .def_readonly("process", &Self::process, "Index of the process in `Report.processes`.")
        .def_readonly("number",
                      &Self::number,
                      "Position among all collections since the start of the watch, counted from "
                      "1.")
        .def_readonly("generation", &Self::generation, "The generation, as in `gc.callbacks`.")
        .def_readonly("scan",
                      &Self::scan,
                      "True for a scan, which finds unreachable objects but frees nothing.")
        .def_readonly("started_at",
                      &Self::started_at,
                      "Seconds from the start of the watch to the start of the collection.")
        .def_readonly(
            "duration",
            &Self::duration,
            "Duration of the collection in seconds, including the time spent in the watch.")
        .def_readonly("own_seconds",
                      &Self::own_seconds,
                      "The part of `duration` that was spent in the watch, in seconds.")
        .def_readonly("dead_for_at_most",
                      &Self::dead_for_at_most,
                      "Upper bound on the number of seconds for which the memory was unreachable: "
                      "the time since the last collection that would have freed it.")
        .def_readonly("unreachable",
                      &Self::unreachable,
                      "Number of objects that the collector found unreachable.")
        .def_readonly("owners", &Self::owners, "Number of unreachable tensor owners.")
        .def_readonly("released_bytes",
                      &Self::released_bytes,
                      "Device bytes that the collection freed, or that the scan found, counting "
                      "each storage once.")
        .def_property_readonly(
            "step",
            int_or_none<-1>(&Self::step),
            "The last step number passed to Watch.step() before the collection; None if there was "
            "none.")
        .def_property_readonly("device_memory",
                               list_of(&Self::device_memory),
                               "Memory in use on the devices of the unreachable owners; empty if "
                               "unknown or if the watch had exceeded its budget.")
        .def_property_readonly("findings",
                               list_of(&Self::findings),
                               "Up to 16 findings of this collection, largest first.")
        .def_readonly(
            "note",
            &Self::note,
            "Why the results of this collection are incomplete; empty if they are complete.")
        .def("__repr__", [](const Self& self) {
            return "<Collection " + std::to_string(self.number) + ": " +
                   std::to_string(self.unreachable) + " objects, " + std::to_string(self.owners) +
                   " owners, " + base::format_bytes(self.released_bytes) + ">";
        });
}

void bind_program(py::module_& module) {
    using Self = model::ProgramInfo;
    ProgramClass added(module,
                       "Program",
                       "A process that was watched.\n\n"
                       "Examples:\n"
                       "    >>> import os\n"
                       "    >>> [program] = report.processes\n"
                       "    >>> program.script, program.pid == os.getpid(), program.rank\n"
                       "    ('train', True, None)");
    of_package(added)
        .def_readonly("script", &Self::script, "Name of the script, without directory and suffix.")
        .def_readonly("pid", &Self::pid, "The process id.")
        .def_property_readonly("rank",
                               int_or_none<-1>(&Self::rank),
                               "Value of the environment variable RANK; None if it was not set.")
        .def_readonly("python_version", &Self::python_version, "Version of CPython: '3.11.9'.")
        .def_readonly("cyclewatch_version", &Self::cyclewatch_version, "Version of cyclewatch.")
        .def_readonly(
            "started_at",
            &Self::started_at,
            "Start time of the watch, in UTC and ISO 8601 format: '2026-01-31T12:00:00Z'.")
        .def_readonly("strategy",
                      &Self::strategy,
                      "How unreachable objects were found: 'ride-along' or 'heap-scan'.")
        .def_readonly("unexamined",
                      &Self::unexamined,
                      "The objects that nothing had examined when the report was written; empty if "
                      "a scan or a full collection examined all objects at the end of the watch, "
                      "None if unknown.")
        .def("__repr__", [](const Self& self) {
            return "<Program " + quoted(self.script) + ", pid " + std::to_string(self.pid) + ">";
        });
}

void bind_census_time(py::module_& module) {
    using Self = model::CensusTime;
    py::class_<Self, std::shared_ptr<Self>> added(
        module,
        "CensusTime",
        "When the latest census of a process was taken.\n\n"
        "Examples:\n"
        "    >>> with cyclewatch.watch(devices='cpu', census_every=1, budget=1) as watch:\n"
        "    ...     watch.step(5)\n"
        "    >>> [census] = watch.report().censuses\n"
        "    >>> census.step\n"
        "    5");
    of_package(added)
        .def_readonly("process", &Self::process, "Index of the process in `Report.processes`.")
        .def_readonly("at", &Self::at, "Seconds from the start of the watch to the census.")
        .def_property_readonly("step",
                               int_or_none<-1>(&Self::step),
                               "The last step number passed to Watch.step() before the census; "
                               "None if there was none.")
        .def("__repr__", [](const Self& self) {
            return "<CensusTime " + base::format_duration(self.at) +
                   (self.step < 0 ? "" : ", step " + std::to_string(self.step)) + ">";
        });
}

void bind_generation_totals(py::module_& module) {
    using Self = model::GenerationTotals;
    py::class_<Self, std::shared_ptr<Self>> added(
        module,
        "GenerationTotals",
        "All collections of one generation.\n\n"
        "Examples:\n"
        "    >>> totals = report.generations[-1]\n"
        "    >>> totals.generation, totals.freeing, totals.freed_bytes\n"
        "    (2, 1, 4096)");
    of_package(added)
        .def_readonly("generation", &Self::generation, "The generation, as in `gc.callbacks`.")
        .def_readonly("collections", &Self::collections, "Number of collections.")
        .def_readonly(
            "seconds",
            &Self::seconds,
            "Total time of the collections in seconds, excluding the time spent in the watch.")
        .def_readonly("share", &Self::share, "`seconds` divided by the duration of the watch.")
        .def_property_readonly(
            "examined",
            int_or_none<0>(&Self::examined),
            "Number of objects that the collections examined; None before CPython 3.15.")
        .def_readonly(
            "reclaimed", &Self::reclaimed, "Number of objects that the collections freed.")
        .def_readonly("freeing", &Self::freeing, "Number of collections that freed device memory.")
        .def_readonly(
            "freeing_seconds",
            &Self::freeing_seconds,
            "The part of `seconds` that was spent in collections that freed device memory.")
        .def_readonly("freed_bytes",
                      &Self::freed_bytes,
                      "Device bytes that the collections freed on the watched devices, counting "
                      "each storage once.")
        .def("__repr__", [](const Self& self) {
            return "<GenerationTotals of generation " + std::to_string(self.generation) + ": " +
                   base::counted(self.collections, "collection") + ", " +
                   base::format_bytes(self.freed_bytes) + ">";
        });
}

using StatsClass = py::class_<model::Stats, std::shared_ptr<model::Stats>>;

// The keys of a Stats object, which is also a mapping.
const std::vector<std::string>& stats_names() {
    static const std::vector<std::string> names{"collections",
                                                "scans",
                                                "unreachable",
                                                "owners",
                                                "findings",
                                                "seconds",
                                                "collection_seconds",
                                                "elapsed",
                                                "skipped"};
    return names;
}

void bind_stats(py::module_& module) {
    using Self = model::Stats;
    StatsClass added(module,
                     "Stats",
                     "Statistics of a watch.\n\n"
                     "Each value is available as an attribute and as a mapping item.\n\n"
                     "Examples:\n"
                     "    >>> report.stats.owners, dict(report.stats)['owners']\n"
                     "    (1, 1)");
    of_package(added)
        .def_readonly("collections", &Self::collections, "Number of collections.")
        .def_readonly("scans", &Self::scans, "Number of scans without a collection.")
        .def_readonly("unreachable", &Self::unreachable, "Number of unreachable objects.")
        .def_readonly("owners", &Self::owners, "Number of unreachable tensor owners.")
        .def_readonly("findings", &Self::findings, "Number of distinct findings.")
        .def_readonly("seconds",
                      &Self::seconds,
                      "Seconds spent in the watch during collections, scans and censuses.")
        .def_readonly("collection_seconds",
                      &Self::collection_seconds,
                      "Total time of all collections in seconds, including the time spent in the "
                      "watch.")
        .def_readonly("elapsed", &Self::elapsed, "Seconds since the start of the watch.")
        .def_readonly("skipped", &Self::skipped, "The number of omissions, by reason.")
        .def(
            "keys",
            [](const Self&) { return stats_names(); },
            "Return the names of the values, for `dict(stats)`.\n\n"
            "Examples:\n"
            "    >>> report.stats.keys()\n"
            "    ['collections', 'scans', 'unreachable', ...]")
        .def("__iter__", [](const Self&) { return py::iter(py::cast(stats_names())); })
        .def("__len__", [](const Self&) { return stats_names().size(); })
        .def("__getitem__",
             [](const py::object& self, const std::string& name) -> py::object {
                 const auto& names = stats_names();
                 if (std::find(names.begin(), names.end(), name) == names.end()) {
                     throw py::key_error(name);
                 }
                 return self.attr(name.c_str());
             })
        .def("__repr__", [](const py::object& self) {
            return "<Stats " + std::string(py::str(py::dict(self))) + ">";
        });
}

std::string type_name(const py::handle& object) {
    return object.is_none() ? "None" : Py_TYPE(object.ptr())->tp_name;
}

std::shared_ptr<model::Report> merged(const py::object& reports) {
    if (!py::isinstance<py::iterable>(reports)) {
        throw py::type_error("Report.merge() expects a list of reports, not " + type_name(reports));
    }
    std::vector<std::shared_ptr<const model::Report>> kept;  // while the GIL is released
    for (const py::handle report : reports) {
        if (!py::isinstance<model::Report>(report)) {
            throw py::type_error("Report.merge() expects reports, not " + type_name(report));
        }
        kept.push_back(report.cast<std::shared_ptr<model::Report>>());
    }
    std::vector<const model::Report*> given;
    given.reserve(kept.size());
    std::ranges::transform(
        kept, std::back_inserter(given), [](const auto& report) { return report.get(); });
    base::Result<model::Report> whole = [&given] {
        const py::gil_scoped_release unlocked;
        return report::merge_reports(given);
    }();
    if (!whole.ok()) {
        throw py::value_error(whole.error());
    }
    return std::make_shared<model::Report>(std::move(whole).value());
}

void bind_merge(ReportClass& added) {
    added.def_static(
        "merge",
        &merged,
        py::arg("reports"),
        "Merge reports of several processes or runs.\n\n"
        "Findings that share a signature are merged, with an entry in `by_process` for each "
        "process. A process contained in several reports is counted once, in its latest state.\n\n"
        "Raises:\n"
        "    ValueError: `reports` is empty, or merged reports overlap so that a process would be "
        "omitted or counted twice.\n\n"
        "Examples:\n"
        "    >>> import glob\n"
        "    >>> report.save('rank0.json')\n"
        "    >>> paths = sorted(glob.glob('rank*.json'))\n"
        "    >>> merged = cyclewatch.Report.merge(map(cyclewatch.Report.load, paths))\n"
        "    >>> len(merged.processes), merged.findings[0].occurrences\n"
        "    (1, 1)");
}

// Adds what a report says about live tensors and devices.
void add_live_properties(ReportClass& added) {
    using Self = model::Report;
    added
        .def_property_readonly(
            "growing",
            list_of(&Self::growing),
            "Up to 100 groups of tensors whose memory use is growing, fastest-growing first. Empty "
            "if the watch took no census.")
        .def_property_readonly(
            "live_owners",
            list_of(&Self::live_owners),
            "The largest groups of reachable tensors in the last census or, in a report of "
            "`cyclewatch attach`, at the end of the scan; up to 100 per process, largest first.")
        .def_property_readonly(
            "censuses",
            list_of(&Self::censuses),
            "When `growing` and `live_owners` were recorded, one entry per process that took a "
            "census.")
        .def_property_readonly(
            "device_records",
            list_of(&Self::device_records),
            "The CUDA devices that contained unreachable tensors, ordered by process and device. "
            "Empty if CUDA was not in use or could not be queried.");
}

ReportClass add_report_class(py::module_& module) {
    using Self = model::Report;
    using Shared = std::shared_ptr<Self>;
    ReportClass added(module,
                      "Report",
                      "The findings of a watch, the collections in which they were found, and the "
                      "number of omitted items.\n\nAn immutable snapshot; all methods are "
                      "thread-safe. Rendering, "
                      "loading and merging release the GIL.\n\n"
                      "Examples:\n"
                      "    >>> with cyclewatch.watch(devices='cpu') as watch:\n"
                      "    ...     train()\n"
                      "    >>> report = watch.report()\n"
                      "    >>> report\n"
                      "    <Report of 'train': 1 findings, 4.0 KiB>\n"
                      "    >>> report.retained_bytes, len(report.findings)\n"
                      "    (4096, 1)");
    of_package(added)
        .def_property_readonly(
            "findings",
            list_of(&Self::findings),
            "The findings, sorted by `retained_bytes + shared_bytes`, largest first.")
        .def_readonly("retained_bytes",
                      &Self::retained_bytes,
                      "Device bytes of all unreachable tensor owners, counting each storage once.")
        .def_property_readonly(
            "collections",
            list_of(&Self::collections),
            "The collections and scans that found tensor owners, ordered by "
            "process and time. For a long run, the list is an evenly spaced sample.")
        .def_readonly("omitted_collections",
                      &Self::omitted_collections,
                      "Number of collections and scans that found tensor owners but are not "
                      "listed.")
        .def_readonly("devices", &Self::devices, "The watched devices, as passed by the user.")
        .def_property_readonly(
            "notes",
            [](const Self& self) {
                std::vector<std::string> notes;  // cleaned: they name files
                std::ranges::transform(self.notes, std::back_inserter(notes), base::clean_text);
                return notes;
            },
            "Sentences that describe which data was truncated or skipped.")
        .def_property_readonly(
            "processes",
            list_of(&Self::processes),
            "The watched processes. In a merged report, they are ordered by rank, then pid.")
        .def_property_readonly(
            "stats",
            [](const Shared& self) { return std::shared_ptr<model::Stats>(self, &self->stats); },
            "Statistics of the watch when the report was created.")
        .def_property_readonly(
            "generations",
            [](const Shared& self) { return views(self, self->stats.generations); },
            "Totals for the collections of each generation, youngest generation first.")
        .def("__repr__", [](const Self& self) {
            const std::size_t processes = self.processes.size();
            return "<Report of " +
                   (processes == 1 ? quoted(self.processes.front().script)
                                   : std::to_string(processes) + " processes") +
                   ": " + std::to_string(self.findings.size()) + " findings, " +
                   base::format_bytes(self.retained_bytes) + ">";
        });
    add_live_properties(added);
    return added;
}

}  // namespace

void bind_report(py::module_& module) {
    bind_device_memory(module);
    bind_finding_part(module);
    bind_collection(module);
    bind_program(module);
    bind_census_time(module);
    bind_generation_totals(module);
    bind_stats(module);
    bind_finding(module);
    bind_devices(module);
    ReportClass added = add_report_class(module);
    bind_merge(added);
    bind_render(module, added);
}

}  // namespace cyclewatch::bindings
