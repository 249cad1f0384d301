// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/byte_size.h"
#include "bindings/bind.h"
#include "bindings/values.h"
#include "render/labels.h"
#include "report/merge_reports.h"

namespace cyclewatch::bindings {
namespace {

using model::Status;
using model::Verdict;

using CollectionClass =
    py::class_<model::CollectionRecord, std::shared_ptr<model::CollectionRecord>>;
using ProgramClass = py::class_<model::ProgramInfo, std::shared_ptr<model::ProgramInfo>>;

void bind_device_memory(py::module_& module) {
    using model::DeviceMemory;
    py::class_<DeviceMemory, std::shared_ptr<DeviceMemory>> added(
        module, "DeviceMemory", "Memory in use on one device before and after a collection.");
    of_package(added)
        .def_readonly("device", &DeviceMemory::device, "The device: 'cuda:0', 'cpu'.")
        .def_readonly("used_before",
                      &DeviceMemory::used_before,
                      "Bytes in use before the collection freed the unreachable objects.")
        .def_readonly(
            "used_after", &DeviceMemory::used_after, "Bytes in use at the end of the collection.")
        .def_property_readonly(
            "total",
            [](const DeviceMemory& self) {
                return self.total == 0 ? py::object(py::none()) : py::object(py::int_(self.total));
            },
            "Capacity of the device in bytes; None if unknown.")
        .def_property_readonly("source",
                               word_of(&DeviceMemory::source),
                               "Where the numbers come from: 'torch' (allocated by torch), 'cuda' "
                               "(all used memory of the device) or 'process' (resident set size "
                               "of the process).")
        .def("__repr__", [](const DeviceMemory& self) {
            return "<DeviceMemory of " + quoted(self.device) + ": " +
                   base::format_bytes(self.used_before) + ", then " +
                   base::format_bytes(self.used_after) + ">";
        });
}

void bind_finding_part(py::module_& module) {
    using model::FindingPart;
    py::class_<FindingPart, std::shared_ptr<FindingPart>> added(
        module, "FindingPart", "The occurrences of one finding in one collection.");
    of_package(added)
        .def_readonly("signature", &FindingPart::signature, "Signature of the finding.")
        .def_readonly(
            "occurrences", &FindingPart::occurrences, "Number of cycles that were unreachable.")
        .def_readonly("retained_bytes",
                      &FindingPart::retained_bytes,
                      "Device bytes attributed to these cycles. Summed over all findings, each "
                      "storage counts once.")
        .def("__repr__", [](const FindingPart& self) {
            return "<FindingPart of " + quoted(self.signature) + ": " +
                   base::format_bytes(self.retained_bytes) + ">";
        });
}

void bind_collection(py::module_& module) {
    using model::CollectionRecord;
    CollectionClass added(
        module, "Collection", "A garbage collection that found unreachable tensor owners.");
    of_package(added)
        .def_readonly("process",
                      &CollectionRecord::process,
                      "Index into `Report.processes` of the process it ran in.")
        .def_readonly("number",
                      &CollectionRecord::number,
                      "Number among all collections since the start of the watch, from 1.")
        .def_readonly(
            "generation", &CollectionRecord::generation, "The generation, as in `gc.callbacks`.")
        .def_readonly("started_at",
                      &CollectionRecord::started_at,
                      "Seconds from the start of the watch to the start of the collection.")
        .def_readonly("duration",
                      &CollectionRecord::duration,
                      "Seconds the collection took, including the watch's share.")
        .def_readonly("own_seconds",
                      &CollectionRecord::own_seconds,
                      "Seconds of `duration` that were spent in the watch.")
        .def_readonly("dead_for_at_most",
                      &CollectionRecord::dead_for_at_most,
                      "Seconds since an earlier collection could have freed the memory.")
        .def_readonly("unreachable",
                      &CollectionRecord::unreachable,
                      "Number of objects the collector found unreachable.")
        .def_readonly("owners", &CollectionRecord::owners, "Number of unreachable tensor owners.")
        .def_readonly("released_bytes",
                      &CollectionRecord::released_bytes,
                      "Device bytes freed by the collection, each storage once.")
        .def_property_readonly(
            "step",
            [](const CollectionRecord& self) { return step_or_none(self.step); },
            "The step last passed to Watch.step(); None if there was none.")
        .def_property_readonly("device_memory",
                               list_of(&CollectionRecord::device_memory),
                               "Memory in use on the devices of these owners; empty if unknown or "
                               "if the watch was over its budget.")
        .def_property_readonly("findings",
                               list_of(&CollectionRecord::findings),
                               "The findings of this collection, largest first, at most 16.")
        .def_readonly("note",
                      &CollectionRecord::note,
                      "Why the collection was not fully captured; empty if it was.")
        .def("__repr__", [](const CollectionRecord& self) {
            return "<Collection " + std::to_string(self.number) + ": " +
                   std::to_string(self.unreachable) + " objects, " + std::to_string(self.owners) +
                   " owners, " + base::format_bytes(self.released_bytes) + ">";
        });
}

void bind_program(py::module_& module) {
    using model::ProgramInfo;
    ProgramClass added(module, "Program", "A process that was watched.");
    of_package(added)
        .def_readonly(
            "script", &ProgramInfo::script, "Name of the script, without folder and suffix.")
        .def_readonly("pid", &ProgramInfo::pid, "The process id.")
        .def_property_readonly(
            "rank",
            [](const ProgramInfo& self) {
                return self.rank < 0 ? py::object(py::none()) : py::object(py::int_(self.rank));
            },
            "Value of the environment variable RANK; None if it was not set.")
        .def_readonly(
            "python_version", &ProgramInfo::python_version, "Version of CPython: '3.11.9'.")
        .def_readonly(
            "cyclewatch_version", &ProgramInfo::cyclewatch_version, "Version of cyclewatch.")
        .def_readonly("started_at",
                      &ProgramInfo::started_at,
                      "Start of the watch, UTC, ISO 8601: '2026-01-31T12:00:00Z'.")
        .def_readonly(
            "strategy", &ProgramInfo::strategy, "How unreachable objects were determined.")
        .def("__repr__", [](const ProgramInfo& self) {
            return "<Program " + quoted(self.script) + ", pid " + std::to_string(self.pid) + ">";
        });
}

using StatsClass = py::class_<model::Stats, std::shared_ptr<model::Stats>>;

// The keys of a Stats object, which is also a mapping.
const std::vector<std::string>& stats_names() {
    static const std::vector<std::string> names{"collections",
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
    using model::Stats;
    StatsClass added(
        module,
        "Stats",
        "Statistics of a watch.\n\nThe values are attributes and, as in a mapping, items: "
        "`dict(stats)`.");
    of_package(added)
        .def_readonly("collections", &Stats::collections, "Number of collections.")
        .def_readonly("unreachable", &Stats::unreachable, "Number of unreachable objects.")
        .def_readonly("owners", &Stats::owners, "Number of unreachable tensor owners.")
        .def_readonly("findings", &Stats::findings, "Number of distinct findings.")
        .def_readonly("seconds", &Stats::seconds, "Seconds spent in the watch during collections.")
        .def_readonly("collection_seconds",
                      &Stats::collection_seconds,
                      "Seconds all collections took, including the watch's share.")
        .def_readonly("elapsed", &Stats::elapsed, "Seconds since the start of the watch.")
        .def_readonly("skipped", &Stats::skipped, "How often something was left out, by reason.")
        .def("keys", [](const Stats&) { return stats_names(); })
        .def("__iter__", [](const Stats&) { return py::iter(py::cast(stats_names())); })
        .def("__len__", [](const Stats&) { return stats_names().size(); })
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

void assign(model::Finding& finding, Status status, const std::string& reason) {
    finding.status = status;
    finding.status_reason = reason;
}

void assign(model::Finding& finding, Verdict verdict, const std::string& note) {
    finding.verdict = verdict;
    finding.note = note;
}

template <model::Worded Enum>
Enum from_word_or_raise(const std::string& word) {
    const std::optional<Enum> value = model::from_word<Enum>(word);
    if (!value) {
        const model::Words words = words_of(Enum{});
        throw py::value_error(quoted(word) + " is not one of " +
                              std::string(py::repr(py::cast(
                                  std::vector<std::string_view>(words.begin(), words.end())))));
    }
    return *value;
}

// Changes a copy: views that Python holds point into `report`.
template <model::Worded Enum>
std::shared_ptr<model::Report> reviewed(
    const model::Report& report,
    const std::unordered_map<std::string, std::pair<std::string, std::string>>& reviews) {
    auto changed = std::make_shared<model::Report>(report);
    for (model::Finding& finding : changed->findings) {
        if (const auto review = reviews.find(finding.signature); review != reviews.end()) {
            const auto& [word, text] = review->second;
            assign(finding, from_word_or_raise<Enum>(word), text);
        }
    }
    return changed;
}

}  // namespace

void bind_report(py::module_& module) {
    bind_device_memory(module);
    bind_finding_part(module);
    bind_collection(module);
    bind_program(module);
    bind_stats(module);
    bind_finding(module);

    using model::Report;
    using Self = std::shared_ptr<Report>;
    ReportClass added(module,
                      "Report",
                      "The findings of a watch, the collections behind them, and what was left "
                      "out.\n\nAn immutable snapshot; all methods are thread-safe. Rendering, "
                      "loading and merging release the GIL.");
    of_package(added)
        .def_property_readonly("findings",
                               list_of(&Report::findings),
                               "The findings, largest `retained_bytes + shared_bytes` first.")
        .def_readonly("retained_bytes",
                      &Report::retained_bytes,
                      "Device bytes of all unreachable tensor owners, each storage once.")
        .def_property_readonly(
            "collections",
            list_of(&Report::collections),
            "The collections that found tensor owners, by process, in order. For a long run, an "
            "evenly spaced sample.")
        .def_readonly("omitted_collections",
                      &Report::omitted_collections,
                      "Number of such collections not in `collections`.")
        .def_readonly("devices", &Report::devices, "The watched devices, as passed by the user.")
        .def_property_readonly(
            "notes",
            [](const Report& self) {
                std::vector<std::string> notes;  // cleaned: they name files
                std::ranges::transform(self.notes, std::back_inserter(notes), render::clean_text);
                return notes;
            },
            "Sentences about what was truncated or skipped.")
        .def_property_readonly("processes",
                               list_of(&Report::processes),
                               "The watched processes; in a merged report by rank, then pid.")
        .def_property_readonly(
            "stats",
            [](const Self& self) { return std::shared_ptr<model::Stats>(self, &self->stats); },
            "Statistics of the watch when the report was made.")
        .def("with_statuses",
             &reviewed<Status>,
             py::arg("statuses"),
             "Return a copy of the report with other statuses.\n\n"
             "Args:\n"
             "    statuses: {signature: (status, reason)}. Unknown signatures are ignored.\n\n"
             "Raises:\n"
             "    ValueError: Unknown status.")
        .def("with_verdicts",
             &reviewed<Verdict>,
             py::arg("verdicts"),
             "Return a copy of the report with a reviewer's verdicts.\n\n"
             "Args:\n"
             "    verdicts: {signature: (verdict, note)}. Unknown signatures are ignored.\n\n"
             "Raises:\n"
             "    ValueError: Unknown verdict.")
        .def("__repr__", [](const Report& self) {
            const std::size_t processes = self.processes.size();
            return "<Report of " +
                   (processes == 1 ? quoted(self.processes.front().script)
                                   : std::to_string(processes) + " processes") +
                   ": " + std::to_string(self.findings.size()) + " findings, " +
                   base::format_bytes(self.retained_bytes) + ">";
        });
    added.def_static(
        "merge",
        &merged,
        py::arg("reports"),
        "Merge reports of several processes or runs.\n\n"
        "Findings with a signature in common become one, with an entry in `by_process` for each "
        "process. A process contained in several reports counts once, in its latest state.\n\n"
        "Raises:\n"
        "    ValueError: `reports` is empty, or merged reports overlap so that the result would "
        "be wrong.");
    bind_render(module, added);
}

}  // namespace cyclewatch::bindings
