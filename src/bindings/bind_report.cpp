// SPDX-License-Identifier: Apache-2.0
#include "bindings/bind_report.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_size.h"
#include "bindings/bind_render.h"
#include "render/renderer.h"

namespace py = pybind11;

namespace cyclewatch::bindings {
namespace {

using FindingClass = py::class_<model::Finding, std::shared_ptr<model::Finding>>;
using ReferenceClass = py::class_<model::Reference, std::shared_ptr<model::Reference>>;
using OwnerClass = py::class_<model::OwnerSummary, std::shared_ptr<model::OwnerSummary>>;
using CollectionClass =
    py::class_<model::CollectionRecord, std::shared_ptr<model::CollectionRecord>>;
using ProgramClass = py::class_<model::ProgramInfo, std::shared_ptr<model::ProgramInfo>>;

// A list of views into `items`, each of which keeps `whole` alive.
template <typename Whole, typename Item>
py::list views(const std::shared_ptr<Whole>& whole, std::vector<Item>& items) {
    py::list list;
    for (Item& item : items) {
        list.append(std::shared_ptr<Item>(whole, &item));
    }
    return list;
}

py::object text_or_none(const std::string& text) {
    return text.empty() ? py::object(py::none()) : py::object(py::str(text));
}

// "[2, 3]" as (2, 3). What is not a number stays text: a symbolic dimension.
py::object shape_tuple(std::string_view text) {
    if (text.size() < 2 || text.front() != '[' || text.back() != ']') {
        return text.empty() ? py::object(py::none())
                            : py::object(py::make_tuple(std::string(text)));
    }
    text = text.substr(1, text.size() - 2);
    py::list dimensions;
    while (!text.empty()) {
        const std::size_t comma = std::min(text.find(','), text.size());
        std::string_view word = text.substr(0, comma);
        word.remove_prefix(std::min(word.find_first_not_of(' '), word.size()));
        long long number = 0;
        const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
        if (error == std::errc{} && end == word.data() + word.size()) {
            dimensions.append(number);
        } else {
            dimensions.append(std::string(word));
        }
        text.remove_prefix(std::min(comma + 1, text.size()));
    }
    return py::tuple(dimensions);
}

py::object first_cut(const std::shared_ptr<model::Finding>& finding) {
    if (finding->cut.empty()) {
        return py::none();
    }
    return py::cast(std::shared_ptr<model::Reference>(finding, &finding->cut.front()));
}

// The classes belong to the package; that the module is native is nobody's business.
template <typename Class>
Class& of_package(Class& added) {
    added.attr("__module__") = "cyclewatch";
    return added;
}

std::string quoted(const std::string& text) {
    return py::repr(py::str(text));
}

void bind_reference(py::module_& module) {
    using model::Reference;
    ReferenceClass added(module,
                         "Reference",
                         "One reference of a loop, from a holder to a target, as a person thinks "
                         "of it: an instance and its dict are one.");
    of_package(added)
        .def_readonly(
            "holder", &Reference::holder, "What holds the reference, such as 'mymodel.Engine'.")
        .def_readonly(
            "label", &Reference::label, "How it goes by: '.callback', 'closure:self', '[3]' ...")
        .def_readonly("target", &Reference::target, "What it refers to.")
        .def_property_readonly(
            "location",
            [](const Reference& self) { return text_or_none(self.location); },
            "'path:line' of the code to change; None if not known.")
        .def_property_readonly(
            "reason",
            [](const Reference& self) { return text_or_none(self.reason); },
            "Why to cut it, in words; None for a reference that is not a candidate.")
        .def_readonly("raw_path",
                      &Reference::raw_path,
                      "The interpreter's own references that this one stands for, in order.")
        .def_readonly("payload",
                      &Reference::payload,
                      "True if it is off the loop: cutting it keeps the loop and drops the memory.")
        .def("__repr__", [](const Reference& self) {
            return "<Reference " + self.holder + " " + self.label + " -> " + self.target + ">";
        });
}

void bind_owner(py::module_& module) {
    using model::OwnerSummary;
    OwnerClass added(module,
                     "Owner",
                     "An object that owned device memory and died with the loop; equal ones are "
                     "counted together.");
    of_package(added)
        .def_readonly("type", &OwnerSummary::type, "Its type, such as 'torch.Tensor'.")
        .def_readonly("device", &OwnerSummary::device, "'cuda:0', 'cpu' ...")
        .def_readonly(
            "nbytes", &OwnerSummary::bytes, "Bytes of its storage, the whole one if it is a view.")
        .def_property_readonly(
            "shape",
            [](const OwnerSummary& self) { return shape_tuple(self.shape); },
            "Its dimensions, outermost first; None if it has none.")
        .def_property_readonly(
            "dtype",
            [](const OwnerSummary& self) { return text_or_none(self.dtype); },
            "'float32' ...; None if it has none.")
        .def_readonly("path", &OwnerSummary::path, "How the loop reaches it: 'Node.data'.")
        .def_readonly("count", &OwnerSummary::count, "How many owners were equal to this one.")
        .def_property_readonly(
            "allocated_at",
            [](const OwnerSummary& self) { return text_or_none(self.allocated_at); },
            "'path:line' that created it; None if not known.")
        .def("__repr__", [](const OwnerSummary& self) {
            return "<Owner " + self.type + " " + base::format_bytes(self.bytes) + " on " +
                   self.device + " at " + quoted(self.path) + ">";
        });
}

void bind_collection(py::module_& module) {
    using model::CollectionRecord;
    CollectionClass added(module, "Collection", "One collection that condemned an owner.");
    of_package(added)
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
        .def_readonly("condemned", &CollectionRecord::condemned, "Objects it condemned.")
        .def_readonly("owners", &CollectionRecord::owners, "Owners among them.")
        .def_readonly("released_bytes",
                      &CollectionRecord::released_bytes,
                      "Device bytes it gave back, each storage once.")
        .def_readonly(
            "note", &CollectionRecord::note, "Why something was not captured; empty if all was.")
        .def("__repr__", [](const CollectionRecord& self) {
            return "<Collection " + std::to_string(self.number) + ": " +
                   std::to_string(self.condemned) + " objects, " + std::to_string(self.owners) +
                   " owners, " + base::format_bytes(self.released_bytes) + ">";
        });
}

void bind_program(py::module_& module) {
    using model::ProgramInfo;
    ProgramClass added(module, "Program", "The program that was watched.");
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

void bind_finding_lists(FindingClass& added) {
    using Self = std::shared_ptr<model::Finding>;
    added
        .def_property_readonly(
            "loop",
            [](const Self& self) { return views(self, self->loop); },
            "The references of the loop in order; the last one leads back to the first holder.")
        .def_property_readonly(
            "cut", &first_cut, "The reference to cut; the first of `cuts`, None if there is none.")
        .def_property_readonly(
            "cuts",
            [](const Self& self) { return py::tuple(views(self, self->cut)); },
            "The smallest set of references whose removal ends the loop; mostly one.")
        .def_property_readonly(
            "alternatives",
            [](const Self& self) { return views(self, self->alternatives); },
            "Other references that would do, next best first.")
        .def_property_readonly(
            "owners",
            [](const Self& self) { return views(self, self->owners); },
            "What held the memory, heaviest first.");
}

void bind_finding(py::module_& module) {
    using model::Finding;
    FindingClass added(module,
                       "Finding",
                       "One reference loop that kept device memory alive. Equal loops are one "
                       "finding with a count.");
    of_package(added)
        .def_readonly("signature",
                      &Finding::signature,
                      "The same on every run, rank and machine: 'cw1-' and 16 digits.")
        .def_readonly("pattern", &Finding::pattern, "What kind of loop it is, or 'unknown'.")
        .def_readonly("title", &Finding::title, "The loop in short: 'Engine.hook -> Engine'.")
        .def_readonly(
            "headline", &Finding::headline, "One sentence: what keeps how much, and what to cut.")
        .def_readonly("held_bytes",
                      &Finding::held_bytes,
                      "Device bytes that only this loop kept, each storage once, over all "
                      "occurrences.")
        .def_readonly(
            "shared_bytes", &Finding::shared_bytes, "Device bytes that other loops kept as well.")
        .def_readonly(
            "largest_bytes", &Finding::largest_bytes, "held_bytes of the heaviest occurrence.")
        .def_readonly("occurrences", &Finding::occurrences, "Loops with this signature.")
        .def_readonly("tie",
                      &Finding::tie,
                      "True if the first alternative is as good as the reference to cut.")
        .def_readonly("omitted_owners",
                      &Finding::omitted_owners,
                      "Owners left out of `owners` to keep it short.")
        .def_readonly("first_seen", &Finding::first_seen, "Seconds since the watch began.")
        .def_readonly("last_seen", &Finding::last_seen, "Seconds since the watch began.")
        .def_readonly("dead_for_at_most",
                      &Finding::dead_for_at_most,
                      "Seconds: the longest the memory can have waited for a collection.")
        .def_readonly("first_collection",
                      &Finding::first_collection,
                      "Number of the collection that first condemned it.")
        .def_readonly(
            "collections", &Finding::collections, "Collections that condemned at least one.")
        .def(
            "to_text",
            [](const Finding& self, std::size_t rank) { return render::render_card(self, rank); },
            py::arg("rank") = 1,
            "The card of this finding: at most 25 lines.")
        .def("__repr__", [](const Finding& self) {
            return "<Finding " + self.signature + ": " + quoted(self.title) + ", " +
                   base::format_bytes(self.held_bytes) + ", seen " +
                   std::to_string(self.occurrences) + " times>";
        });
    bind_finding_lists(added);
}

using StatsClass = py::class_<model::Stats, std::shared_ptr<model::Stats>>;

// Stats answers to attributes and, for tables and logs, to names like a mapping.
const std::vector<std::string>& stats_names() {
    static const std::vector<std::string> names{"collections",
                                                "condemned",
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
        .def_readonly("condemned", &Stats::condemned, "Objects condemned.")
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

}  // namespace

void bind_report(py::module_& module) {
    bind_reference(module);
    bind_owner(module);
    bind_collection(module);
    bind_program(module);
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
            "Heaviest held_bytes first.")
        .def_readonly("held_bytes",
                      &Report::held_bytes,
                      "Device bytes of all owners that died with garbage, each storage once.")
        .def_property_readonly(
            "collections",
            [](const Self& self) { return views(self, self->collections); },
            "The latest collections that condemned an owner.")
        .def_readonly("omitted_collections",
                      &Report::omitted_collections,
                      "Older collections left out of `collections`.")
        .def_readonly("devices", &Report::devices, "What was watched, as the user named it.")
        .def_readonly("notes", &Report::notes, "What was truncated or skipped, in words.")
        .def_property_readonly(
            "program",
            [](const Self& self) {
                return std::shared_ptr<model::ProgramInfo>(self, &self->program);
            },
            "The program that was watched.")
        .def_property_readonly(
            "stats",
            [](const Self& self) { return std::shared_ptr<model::Stats>(self, &self->stats); },
            "Counts and seconds of the watch when the report was made.")
        .def("__repr__", [](const Report& self) {
            return "<Report of " + quoted(self.program.script) + ": " +
                   std::to_string(self.findings.size()) + " findings, " +
                   base::format_bytes(self.held_bytes) + ">";
        });
    bind_render(module, added);
}

}  // namespace cyclewatch::bindings
