// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/text.h"
#include "bindings/bind.h"
#include "bindings/bind_fields.h"
#include "bindings/values.h"
#include "render/alignment.h"
#include "render/renderer.h"
#include "report/merge.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace cyclewatch::bindings {
namespace {

#ifdef __GLIBC__
constexpr int kKeptMemory = 32 << 20;  // bytes; the largest that mallopt() accepts
#endif
constexpr std::streamoff kLargestMerged = 64 << 20;  // bytes of a file
constexpr unsigned kMostThreads = 4;

void bind_device_memory(py::module_& module) {
    using Self = model::DeviceMemory;
    add_struct<Self>(module,
                     "Examples:\n"
                     "    >>> [memory] = report.collections[0].device_memory\n"
                     "    >>> memory.device, memory.source\n"
                     "    ('cpu', 'process')")
        .def("__repr__", [](const Self& self) {
            return "<DeviceMemory of " + quoted(self.device) + ": " +
                   base::format_bytes(self.used_before) + ", then " +
                   base::format_bytes(self.used_after) + ">";
        });
}

void bind_finding_part(py::module_& module) {
    using Self = model::FindingPart;
    add_struct<Self>(module,
                     "Examples:\n"
                     "    >>> [part] = report.collections[0].findings\n"
                     "    >>> part.signature == finding.signature, part.occurrences\n"
                     "    (True, 1)")
        .def("__repr__", [](const Self& self) {
            return "<FindingPart of " + quoted(self.signature) + ": " +
                   base::format_bytes(self.retained_bytes) + ">";
        });
}

void bind_collection(py::module_& module) {
    using Self = model::CollectionRecord;
    add_struct<Self>(module,
                     "Examples:\n"
                     "    >>> [collection] = report.collections\n"
                     "    >>> collection.generation, collection.owners, collection.released_bytes\n"
                     "    (2, 1, 4096)")
        .def("__repr__", [](const Self& self) {
            return "<Collection " + std::to_string(self.number) + ": " +
                   std::to_string(self.unreachable) + " objects, " + std::to_string(self.owners) +
                   " owners, " + base::format_bytes(self.released_bytes) + ">";
        });
}

void bind_program(py::module_& module) {
    using Self = model::ProgramInfo;
    add_struct<Self>(module,
                     "Examples:\n"
                     "    >>> import os\n"
                     "    >>> [program] = report.processes\n"
                     "    >>> program.script, program.pid == os.getpid(), program.rank\n"
                     "    ('train', True, None)")
        .def("__repr__", [](const Self& self) {
            return "<Program " + quoted(self.script) + ", pid " + std::to_string(self.pid) + ">";
        });
}

void bind_census_time(py::module_& module) {
    using Self = model::CensusTime;
    add_struct<Self>(
        module,
        "Examples:\n"
        "    >>> with cyclewatch.watch(devices='cpu', census_every=1, budget=1) as watch:\n"
        "    ...     watch.step(5)\n"
        "    >>> [census] = watch.report().censuses\n"
        "    >>> census.step\n"
        "    5")
        .def("__repr__", [](const Self& self) {
            return "<CensusTime " + base::format_duration(self.at) +
                   (self.step < 0 ? "" : ", step " + std::to_string(self.step)) + ">";
        });
}

void bind_generation_totals(py::module_& module) {
    using Self = model::GenerationTotals;
    add_struct<Self>(module,
                     "Examples:\n"
                     "    >>> totals = report.generations[-1]\n"
                     "    >>> totals.generation, totals.freeing, totals.freed_bytes\n"
                     "    (2, 1, 4096)")
        .def("__repr__", [](const Self& self) {
            return "<GenerationTotals of generation " + std::to_string(self.generation) + ": " +
                   base::counted(self.collections, "collection") + ", " +
                   base::format_bytes(self.freed_bytes) + ">";
        });
}

// The keys of a Stats object, which is also a mapping.
const std::vector<std::string>& stats_names() {
    static const std::vector<std::string> names = property_names<model::Stats>();
    return names;
}

void bind_stats(py::module_& module) {
    using Self = model::Stats;
    add_struct<Self>(module,
                     "Each value is available as an attribute and as a mapping item.\n\n"
                     "Examples:\n"
                     "    >>> report.stats.owners, dict(report.stats)['owners']\n"
                     "    (1, 1)")
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

using Reports = std::vector<std::shared_ptr<model::Report>>;

std::vector<const model::Report*> pointers(const Reports& reports) {
    std::vector<const model::Report*> all;
    all.reserve(reports.size());
    std::ranges::transform(
        reports, std::back_inserter(all), [](const auto& report) { return report.get(); });
    return all;
}

std::shared_ptr<model::Report> merged(const py::object& reports) {
    if (!py::isinstance<py::iterable>(reports)) {
        throw py::type_error("Report.merge() expects a list of reports, not " + type_name(reports));
    }
    Reports kept;  // while the GIL is released
    for (const py::handle report : reports) {
        if (!py::isinstance<model::Report>(report)) {
            throw py::type_error("Report.merge() expects reports, not " + type_name(report));
        }
        kept.push_back(report.cast<std::shared_ptr<model::Report>>());
    }
    const std::vector<const model::Report*> given = pointers(kept);
    base::Result<model::Report> whole = [&given] {
        const py::gil_scoped_release unlocked;
        return report::merge_reports(given);
    }();
    if (!whole.ok()) {
        throw py::value_error(whole.error());
    }
    return std::make_shared<model::Report>(std::move(whole).value());
}

std::optional<model::Report> loaded(const std::string& path) {
    std::ifstream file(path, std::ios::binary | std::ios::ate);
    const std::streamoff size = file.tellg();
    if (!file || size > kLargestMerged) {
        return std::nullopt;
    }
    std::string contents(static_cast<std::size_t>(size), '\0');
    file.seekg(0);
    file.read(contents.data(), size);
    base::Result<model::Report> report = render::load_report(contents);
    return file && report.ok() ? std::optional(std::move(report).value()) : std::nullopt;
}

std::shared_ptr<model::Report> merged_files(const Reports& starts,
                                            const std::vector<py::bytes>& paths) {
    const std::vector<const model::Report*> given = pointers(starts);
    const std::vector<std::string> names(paths.begin(), paths.end());
#ifdef __GLIBC__
    // Each report needs as much memory as the last one. Returning it to the system in between would
    // take a third of the time.
    mallopt(M_TRIM_THRESHOLD, kKeptMemory);
    mallopt(M_MMAP_THRESHOLD, kKeptMemory);
#endif
    const std::size_t threads = std::clamp(std::thread::hardware_concurrency(), 1U, kMostThreads);
    std::optional<model::Report> whole = [&] {
        const py::gil_scoped_release unlocked;
        const auto load = [&names](std::size_t at) { return loaded(names[at]); };
        return report::merge_files(given, load, threads);
    }();
    return whole ? std::make_shared<model::Report>(*std::move(whole)) : nullptr;
}

// A report with only the processes of the report that begins with `start`, or nullptr.
std::shared_ptr<model::Report> start_of_report(const std::string_view start) {
    auto processes = render::load_processes(start);
    if (!processes) {
        return nullptr;
    }
    auto report = std::make_shared<model::Report>();
    report->processes = *std::move(processes);
    return report;
}

// The merged report of the ranks of a job.
std::shared_ptr<model::Report> gathered(const py::object& reports,
                                        const std::set<int>& missing_ranks,
                                        const std::vector<std::string>& notes) {
    std::shared_ptr<model::Report> report = merged(reports);
    report->missing_ranks.reset();
    if (!missing_ranks.empty()) {
        report->missing_ranks.emplace(missing_ranks.begin(), missing_ranks.end());
    }
    report->notes.insert(report->notes.end(), notes.begin(), notes.end());
    return report;
}

void bind_file_merge(py::module_& module) {
    module.def("start_of_report",
               &start_of_report,
               py::arg("start"),
               "A report with only the processes of the report that begins with `start`. Returns "
               "None if `start` ends too early or is not the JSON that save() writes.");
    module.def(
        "merge_order",
        [](const Reports& starts) { return report::merge_order(pointers(starts)); },
        py::arg("starts"),
        "The indexes of `starts` in the order for merge_files(). Empty if a process occurs in "
        "several reports.");
    module.def(
        "merge_files",
        &merged_files,
        py::arg("starts"),
        py::arg("paths"),
        "Like Report.merge(), but has only a few of the reports in memory at a time. Returns "
        "None if a file cannot be read or has other processes than its start.");
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

// For cyclewatch/cli/memory_comparison.py: to_json() of a large report takes a second.
py::list accounts(const model::Report& report) {
    py::list list;
    if (!report.memory) {
        return list;
    }
    for (const model::MemoryAccount& each : *report.memory) {
        py::list lines;
        for (const model::MemoryLine& line : each.lines) {
            lines.append(py::make_tuple(line.kind, line.use, line.bytes));
        }
        list.append(py::make_tuple(report.processes[each.process].rank,
                                   each.device,
                                   model::word_of(each.occasion),
                                   each.in_use,
                                   each.peak,
                                   lines));
    }
    return list;
}

ReportClass add_report_class(py::module_& module) {
    using Self = model::Report;
    using Shared = std::shared_ptr<Self>;
    ReportClass added = add_struct<Self>(
        module,
        "An immutable snapshot; all methods are thread-safe. Rendering, loading and merging "
        "release the GIL.\n\n"
        "Examples:\n"
        "    >>> with cyclewatch.watch(devices='cpu') as watch:\n"
        "    ...     train()\n"
        "    >>> report = watch.report()\n"
        "    >>> report\n"
        "    <Report of 'train': 1 findings, 4.0 KiB>\n"
        "    >>> report.retained_bytes, len(report.findings)\n"
        "    (4096, 1)");
    added
        .def_property_readonly(
            "notes",
            [](const Self& self) {
                std::vector<std::string> notes;  // cleaned: they name files
                std::ranges::transform(self.notes, std::back_inserter(notes), base::clean_text);
                return notes;
            },
            doc_of<&Self::notes>().c_str())
        .def_property_readonly(
            "generations",
            [](const Shared& self) { return views(self, self->stats.generations); },
            doc_of<&model::Stats::generations>().c_str())
        .def_property_readonly(
            "alignment",
            [](const Self& self) -> py::object {
                const std::optional<render::Alignment> found = render::alignment_of(self);
                if (!found) {
                    return py::none();
                }
                py::dict alignment;
                alignment["cost"] = found->cost;
                alignment["aligned"] = found->aligned;
                alignment["step"] = found->step;
                return alignment;
            },
            "An estimate of what the collections of several ranks cost each training step.\n\n"
            "In a merged report of ranks that wait for each other in each step and call "
            "Watch.step(): `cost` is the sum over the steps of the slowest rank's collections, "
            "`aligned` is the same if all ranks collected at the same steps, and `step` is the "
            "duration of a step; all in seconds per step. None unless two or more processes have "
            "counted steps in common.")
        .def_property_readonly("_accounts",
                               &accounts,
                               "For each account: rank, device, occasion, in_use, peak, and the "
                               "kind, use and bytes of each line.")
        .def("__repr__", [](const Self& self) {
            const std::size_t processes = self.processes.size();
            return "<Report of " +
                   (processes == 1 ? quoted(self.processes.front().script)
                                   : std::to_string(processes) + " processes") +
                   ": " + std::to_string(self.findings.size()) + " findings, " +
                   base::format_bytes(self.retained_bytes) + ">";
        });
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
    module.def("gathered_report",
               &gathered,
               py::arg("reports"),
               py::arg("missing_ranks"),
               py::arg("notes"),
               "Like Report.merge(), with the ranks that sent no report, and with further notes.");
    bind_file_merge(module);
    bind_render(module, added);
}

}  // namespace cyclewatch::bindings
