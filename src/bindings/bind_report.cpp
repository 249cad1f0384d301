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
        .def_readonly("device", &DeviceMemory::device, "'cuda:0', 'cpu' ...")
        .def_readonly(
            "used_before",
            &DeviceMemory::used_before,
            "Bytes when the collection had found what is unreachable and not yet freed it.")
        .def_readonly("used_after", &DeviceMemory::used_after, "Bytes when it was over.")
        .def_property_readonly(
            "total",
            [](const DeviceMemory& self) {
                return self.total == 0 ? py::object(py::none()) : py::object(py::int_(self.total));
            },
            "Bytes the device has; None if not known.")
        .def_property_readonly(
            "source",
            [](const DeviceMemory& self) { return model::word_of(self.source); },
            "Whose figures: 'torch' (what its allocator handed out), 'cuda' (all of the device "
            "that is not free) or 'process' (the resident set of the process).")
        .def("__repr__", [](const DeviceMemory& self) {
            return "<DeviceMemory of " + quoted(self.device) + ": " +
                   base::format_bytes(self.used_before) + ", then " +
                   base::format_bytes(self.used_after) + ">";
        });
}

void bind_finding_part(py::module_& module) {
    using model::FindingPart;
    py::class_<FindingPart, std::shared_ptr<FindingPart>> added(
        module, "FindingPart", "The part of one finding in one collection.");
    of_package(added)
        .def_readonly("signature", &FindingPart::signature, "Of the finding.")
        .def_readonly(
            "occurrences", &FindingPart::occurrences, "Cycles of it that were unreachable.")
        .def_readonly(
            "retained_bytes",
            &FindingPart::retained_bytes,
            "Device bytes attributed to them: summed over the findings, each storage counts once.")
        .def("__repr__", [](const FindingPart& self) {
            return "<FindingPart of " + quoted(self.signature) + ": " +
                   base::format_bytes(self.retained_bytes) + ">";
        });
}

void bind_collection(py::module_& module) {
    using model::CollectionRecord;
    CollectionClass added(module, "Collection", "One collection that found an owner unreachable.");
    of_package(added)
        .def_readonly("process",
                      &CollectionRecord::process,
                      "Which of the report's `processes` it ran in, from 0.")
        .def_readonly(
            "number", &CollectionRecord::number, "Counts the collections the watch saw, from 1.")
        .def_readonly("generation", &CollectionRecord::generation, "As the collector names it.")
        .def_readonly("started_at", &CollectionRecord::started_at, "Seconds since the watch began.")
        .def_readonly(
            "duration", &CollectionRecord::duration, "Seconds it took, the watch's share included.")
        .def_readonly(
            "own_seconds", &CollectionRecord::own_seconds, "Seconds of it that the watch spent.")
        .def_readonly("dead_for_at_most",
                      &CollectionRecord::dead_for_at_most,
                      "Seconds since an earlier collection could have freed the memory.")
        .def_readonly(
            "unreachable", &CollectionRecord::unreachable, "Objects it found unreachable.")
        .def_readonly("owners", &CollectionRecord::owners, "Owners among them.")
        .def_readonly("released_bytes",
                      &CollectionRecord::released_bytes,
                      "Device bytes it gave back, each storage once.")
        .def_property_readonly(
            "step",
            [](const CollectionRecord& self) { return step_or_none(self.step); },
            "The program's own step, as it told Watch.step(); None if it told none.")
        .def_property_readonly(
            "device_memory",
            [](const std::shared_ptr<CollectionRecord>& self) {
                return views(self, self->device_memory);
            },
            "Memory in use on the devices those owners were on, where it is known and time allowed "
            "to ask.")
        .def_property_readonly(
            "findings",
            [](const std::shared_ptr<CollectionRecord>& self) {
                return views(self, self->findings);
            },
            "The parts of its findings, largest first, at most 16 of them.")
        .def_readonly(
            "note", &CollectionRecord::note, "Why something was not captured; empty if all was.")
        .def("__repr__", [](const CollectionRecord& self) {
            return "<Collection " + std::to_string(self.number) + ": " +
                   std::to_string(self.unreachable) + " objects, " + std::to_string(self.owners) +
                   " owners, " + base::format_bytes(self.released_bytes) + ">";
        });
}

void bind_program_facts(py::module_& module) {
    using model::ProgramInfo;
    ProgramClass added(module, "Program", "One process that was watched.");
    of_package(added)
        .def_readonly("script", &ProgramInfo::script, "Its file name, without the folder.")
        .def_readonly("pid", &ProgramInfo::pid)
        .def_property_readonly(
            "rank",
            [](const ProgramInfo& self) {
                return self.rank < 0 ? py::object(py::none()) : py::object(py::int_(self.rank));
            },
            "What RANK said; None if it was not set.")
        .def_readonly("python_version", &ProgramInfo::python_version)
        .def_readonly("cyclewatch_version", &ProgramInfo::cyclewatch_version)
        .def_readonly("started_at", &ProgramInfo::started_at, "UTC, ISO 8601.")
        .def_readonly("strategy", &ProgramInfo::strategy, "How collections were observed.")
        .def("__repr__", [](const ProgramInfo& self) {
            return "<Program " + quoted(self.script) + ", pid " + std::to_string(self.pid) + ">";
        });
}

using StatsClass = py::class_<model::Stats, std::shared_ptr<model::Stats>>;

// Stats answers to attributes and, for tables and logs, to names like a mapping.
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
    StatsClass added(module, "Stats", "What a watch saw and spent, by attribute or by name.");
    of_package(added)
        .def_readonly("collections", &Stats::collections, "Collections seen.")
        .def_readonly("unreachable", &Stats::unreachable, "Objects found unreachable.")
        .def_readonly("owners", &Stats::owners, "Owners that died with garbage.")
        .def_readonly("findings", &Stats::findings, "Distinct findings.")
        .def_readonly("seconds", &Stats::seconds, "Seconds the watch spent in collections.")
        .def_readonly("collection_seconds",
                      &Stats::collection_seconds,
                      "Seconds collections took, the watch's share included.")
        .def_readonly("elapsed", &Stats::elapsed, "Seconds the watch has been on.")
        .def_readonly("skipped", &Stats::skipped, "Reason -> how often something was left out.")
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

std::string kind_of(const py::handle& object) {
    return object.is_none() ? "None" : Py_TYPE(object.ptr())->tp_name;
}

std::shared_ptr<model::Report> merged(const py::object& reports) {
    if (!py::isinstance<py::iterable>(reports)) {
        throw py::type_error("Report.merge() takes a list of reports, not " + kind_of(reports));
    }
    std::vector<std::shared_ptr<const model::Report>> kept;  // while the interpreter is let go
    for (const py::handle report : reports) {
        if (!py::isinstance<model::Report>(report)) {
            throw py::type_error("Report.merge() takes reports, not " + kind_of(report));
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

void give(model::Finding& finding, Status status, const std::string& reason) {
    finding.status = status;
    finding.status_reason = reason;
}

void give(model::Finding& finding, Verdict verdict, const std::string& note) {
    finding.verdict = verdict;
    finding.note = note;
}

template <model::Worded Opinion>
Opinion opinion_of(const std::string& word) {
    const std::optional<Opinion> opinion = model::from_word<Opinion>(word);
    if (!opinion) {
        throw py::value_error(quoted(word) + " is none of " +
                              std::string(py::repr(py::cast(std::vector<std::string_view>(
                                  words_of(Opinion{}).begin(), words_of(Opinion{}).end())))));
    }
    return *opinion;
}

// A copy: the views that Python has point into the one it has.
template <model::Worded Opinion>
std::shared_ptr<model::Report> with_opinions(
    const model::Report& report,
    const std::unordered_map<std::string, std::pair<std::string, std::string>>& opinions) {
    auto changed = std::make_shared<model::Report>(report);
    for (model::Finding& finding : changed->findings) {
        if (const auto given = opinions.find(finding.signature); given != opinions.end()) {
            const auto& [word, words] = given->second;
            give(finding, opinion_of<Opinion>(word), words);
        }
    }
    return changed;
}

}  // namespace

void bind_report(py::module_& module) {
    bind_device_memory(module);
    bind_finding_part(module);
    bind_collection(module);
    bind_program_facts(module);
    bind_stats(module);
    bind_finding(module);

    using model::Report;
    using Self = std::shared_ptr<Report>;
    ReportClass added(module,
                      "Report",
                      "What a watch has to say: findings, the collections behind them, and what "
                      "was left out. A snapshot; it does not change.");
    of_package(added)
        .def_property_readonly(
            "findings",
            [](const Self& self) { return views(self, self->findings); },
            "Largest first, by retained_bytes + shared_bytes.")
        .def_readonly("retained_bytes",
                      &Report::retained_bytes,
                      "Device bytes of all owners that died with garbage, each storage once.")
        .def_property_readonly(
            "collections",
            [](const Self& self) { return views(self, self->collections); },
            "Collections that found an owner unreachable, by process, in order. Of a long run, one "
            "of "
            "every so many, from its beginning to its end.")
        .def_readonly("omitted_collections",
                      &Report::omitted_collections,
                      "Such collections left out of `collections`.")
        .def_readonly("devices", &Report::devices, "What was watched, as the user named it.")
        .def_property_readonly(
            "notes",
            [](const Report& self) {
                std::vector<std::string> notes;  // cleaned: they name files
                std::ranges::transform(self.notes, std::back_inserter(notes), render::clean_text);
                return notes;
            },
            "What was truncated or skipped, in words.")
        .def_property_readonly(
            "processes",
            [](const Self& self) { return views(self, self->processes); },
            "What was watched: one process, or those of a merged report by rank, then pid.")
        .def_property_readonly(
            "stats",
            [](const Self& self) { return std::shared_ptr<model::Stats>(self, &self->stats); },
            "Counts and seconds of the watch when the report was made.")
        .def("with_statuses",
             &with_opinions<Status>,
             py::arg("statuses"),
             "The report with these findings' statuses: {signature: (status, reason)}. "
             "Signatures it does not have are passed over. ValueError for an unknown status.")
        .def("with_verdicts",
             &with_opinions<Verdict>,
             py::arg("verdicts"),
             "The report with its reader's verdicts: {signature: (verdict, note)}. Signatures it "
             "does not have are passed over. ValueError for an unknown verdict.")
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
        "One report of several: findings of equal signature become one, with an entry in "
        "`by_process` "
        "for each process. A process that is in several of them is counted once, in its "
        "latest state. ValueError if there is no report, or if merged reports overlap so "
        "that this cannot be done.");
    bind_render(module, added);
}

}  // namespace cyclewatch::bindings
