// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>

#include <charconv>
#include <memory>
#include <sstream>
#include <string>

#include "base/text.h"
#include "bindings/bind.h"
#include "bindings/values.h"
#include "model/finding.h"
#include "model/mistake.h"
#include "render/renderer.h"
#include "render/summary.h"
#include "render/svg/svg_renderer.h"

namespace cyclewatch::bindings {
namespace {

using FindingClass = py::class_<model::Finding, std::shared_ptr<model::Finding>>;
using ReferenceClass = py::class_<model::Reference, std::shared_ptr<model::Reference>>;
using OwnerClass = py::class_<model::OwnerSummary, std::shared_ptr<model::OwnerSummary>>;

py::object first_cut(const std::shared_ptr<model::Finding>& finding) {
    if (finding->cut.empty()) {
        return py::none();
    }
    return py::cast(std::shared_ptr<model::Reference>(finding, &finding->cut.front()));
}

py::object columns_or_none(const model::SourceExcerpt& source) {
    return source.start_column == 0 ? py::object(py::none())
                                    : py::make_tuple(source.start_column, source.end_column);
}

void bind_source_excerpt(py::module_& module) {
    using Self = model::SourceExcerpt;
    py::class_<Self, std::shared_ptr<Self>> added(
        module,
        "SourceExcerpt",
        "The line of code at a location, with the lines around it.\n\n"
        "Examples:\n"
        "    >>> source = finding.cut.source\n"
        "    >>> print(source.lines[source.line - source.first_line].strip())\n"
        "    self.hook = self.run");
    of_package(added)
        .def_readonly("first_line", &Self::first_line, "Number of the first line in `lines`.")
        .def_readonly("line", &Self::line, "Number of the line at the location.")
        .def_readonly("lines", &Self::lines, "The lines; long lines are truncated.")
        .def_property_readonly("columns",
                               &columns_or_none,
                               "The column at which the expression on `line` begins, counted from "
                               "1, and the column after its end; None if unknown.")
        .def("__repr__", [](const Self& self) {
            return "<SourceExcerpt of line " + std::to_string(self.line) + ">";
        });
}

py::object source_or_none(const std::shared_ptr<model::Reference>& reference) {
    if (!reference->source) {
        return py::none();
    }
    return py::cast(std::shared_ptr<model::SourceExcerpt>(reference, &*reference->source));
}

void bind_reference(py::module_& module) {
    using Self = model::Reference;
    ReferenceClass added(module,
                         "Reference",
                         "A reference of the cycle, from `holder` to `target`.\n\n"
                         "An instance and its `__dict__` are treated as one object.\n\n"
                         "Examples:\n"
                         "    >>> finding.cut\n"
                         "    <Reference bound method __main__.Trainer.run __self__ -> "
                         "__main__.Trainer>\n"
                         "    >>> [reference.label for reference in finding.cycle]\n"
                         "    ['.hook', '__self__']");
    of_package(added)
        .def_readonly(
            "holder", &Self::holder, "The object that has the reference, such as 'mymodel.Engine'.")
        .def_property_readonly(
            "holder_path",
            text_or_none(&Self::holder_path),
            "Where the holder is stored, such as 'Registry._pairs'. If the holder is a method of "
            "a container, this is where the container is stored. For the cut of a Path, the holder "
            "as the path writes it. Set only for a cut or an "
            "alternative whose holder is a container, a method of a container, or one of several "
            "bound methods to replace. None if unknown.")
        .def_readonly("label",
                      &Self::label,
                      "The attribute, index, key or variable: '.callback', 'closure:self', '[3]'.")
        .def_readonly("target", &Self::target, "The object that the reference refers to.")
        .def_property_readonly("location",
                               text_or_none(&Self::location),
                               "'path:line' of the code to change; None if unknown.")
        .def_property_readonly(
            "base_class",
            text_or_none(&Self::base_class),
            "The holder's base class, such as 'mylib.Module', if `location` is in a method of "
            "that base class. None if `location` is in the holder's own class, or if unknown.")
        .def_readonly("references",
                      &Self::references,
                      "For a cut: the number of references like this one that the code at "
                      "`location` stores in instances of `holder`. All of them must be cut.")
        .def_property_readonly(
            "reason",
            text_or_none(&Self::reason),
            "Why this reference should be cut; for an alternative, the cost of cutting it. None "
            "for other references.")
        .def_property_readonly("source",
                               &source_or_none,
                               "The code at `location` of a cut or an alternative, as a "
                               "SourceExcerpt; None if the code is not available, and for other "
                               "references.")
        .def_readonly("raw_path",
                      &Self::raw_path,
                      "The references between individual Python objects that were collapsed into "
                      "this one, in order.")
        .def_readonly("payload",
                      &Self::payload,
                      "True if the reference is not part of the cycle: cutting it frees the "
                      "memory but leaves the cycle.")
        .def("__repr__", [](const Self& self) {
            const bool joined = self.label.starts_with('.') || self.label.starts_with('[');
            const std::string text = (self.holder_path.empty() ? self.holder : self.holder_path) +
                                     (joined && !self.holder_path.empty() ? "" : " ") + self.label +
                                     " -> " + self.target;
            return "<Reference " + base::clean_text(text) + ">";
        });
}

void bind_owner(py::module_& module) {
    using Self = model::OwnerSummary;
    OwnerClass added(module,
                     "Owner",
                     "A tensor owner: an object that owned device memory and was freed with the "
                     "cycle.\n\nEqual owners share one entry with a `count`.\n\n"
                     "Examples:\n"
                     "    >>> [owner] = finding.owners\n"
                     "    >>> owner.path, owner.nbytes, owner.device\n"
                     "    ('Trainer.batch', 4096, 'cpu')");
    of_package(added)
        .def_readonly("type", &Self::type, "The type, such as 'torch.Tensor'.")
        .def_readonly("device", &Self::device, "The device: 'cuda:0', 'cpu'.")
        .def_readonly("nbytes",
                      &Self::bytes,
                      "Size of the storage in bytes. For a view, this is the size of the whole "
                      "storage.")
        .def_property_readonly(
            "shape",
            [](const Self& self) { return shape_or_none(self.shape); },
            "The dimensions, outermost first; None if the owner has no shape.")
        .def_property_readonly("dtype",
                               text_or_none(&Self::dtype),
                               "The data type, such as 'float32'; None if the owner has none.")
        .def_readonly("path", &Self::path, "Path from the cycle to the owner: 'Node.data'.")
        .def_readonly("count", &Self::count, "Number of equal owners.")
        .def_property_readonly(
            "allocated_at",
            text_or_none(&Self::allocated_at),
            "'path:line' of the code that created the owner (from tracemalloc) or allocated its "
            "memory (from torch's memory history); None if neither source recorded the code.")
        .def_property_readonly(
            "allocation_stack",
            [](const Self& self) {
                return self.allocation_stack.value_or(std::vector<std::string>());
            },
            "The call stack of the allocation, innermost first, as 'path:line in function' or "
            "'path:line'. Empty if it was not recorded, see `record_history`.")
        .def("__repr__", [](const Self& self) {
            return "<Owner " + base::clean_text(self.type) + " " + base::format_bytes(self.bytes) +
                   " on " + base::clean_text(self.device) + " at " + quoted(self.path) + ">";
        });
}

void bind_process_occurrences(py::module_& module) {
    using Self = model::ProcessOccurrences;
    py::class_<Self, std::shared_ptr<Self>> added(
        module,
        "ProcessOccurrences",
        "The occurrences of a finding in one process.\n\n"
        "Examples:\n"
        "    >>> [occurrences] = finding.by_process\n"
        "    >>> report.processes[occurrences.process].script, occurrences.occurrences\n"
        "    ('train', 1)");
    of_package(added)
        .def_readonly("process", &Self::process, "Index into `Report.processes`.")
        .def_readonly("occurrences", &Self::occurrences, "Number of cycles.")
        .def_readonly("retained_bytes",
                      &Self::retained_bytes,
                      "Device bytes that only these cycles retained.")
        .def_readonly("first_seen",
                      &Self::first_seen,
                      "Seconds from the start of that process's watch to the first occurrence.")
        .def_property_readonly("first_step",
                               int_or_none<-1>(&Self::first_step),
                               "The last step number passed to Watch.step() before the first "
                               "occurrence; None if there was none.")
        .def("__repr__", [](const Self& self) {
            return "<ProcessOccurrences in process " + std::to_string(self.process) + ": " +
                   std::to_string(self.occurrences) + " times, " +
                   base::format_bytes(self.retained_bytes) + ">";
        });
}

void bind_variant(py::module_& module) {
    using Self = model::Variant;
    py::class_<Self, std::shared_ptr<Self>> added(
        module,
        "Variant",
        "All cycles in a merged finding that have the same signature.\n\n"
        "Examples:\n"
        "    >>> class FineTuner(Trainer):\n"
        "    ...     pass\n"
        "    >>> def fine_tune():\n"
        "    ...     FineTuner()\n"
        "    ...     gc.collect()\n"
        "    >>> with cyclewatch.watch(devices='cpu') as watch:\n"
        "    ...     train()\n"
        "    ...     fine_tune()\n"
        "    >>> [variant.name for variant in watch.report().findings[0].variants]\n"
        "    ['FineTuner', 'Trainer']");
    of_package(added)
        .def_readonly("signature", &Self::signature, "The signature, as in Finding.signature.")
        .def_readonly("name",
                      &Self::name,
                      "Short name of the object that distinguishes the variant: 'F1Score'.")
        .def_readonly("title", &Self::title, "The cycle in short: 'Engine.hook -> Engine'.")
        .def_property_readonly("location",
                               text_or_none(&Self::location),
                               "'path:line' of the code to change; None if unknown.")
        .def_readonly("occurrences", &Self::occurrences, "Number of cycles.")
        .def_readonly(
            "bytes", &Self::bytes, "Device bytes that the cycles retained, including shared bytes.")
        .def("__repr__", [](const Self& self) {
            return "<Variant " + self.signature + ": " + quoted(self.title) + ">";
        });
}

void bind_finding_status(FindingClass& added) {
    using Self = model::Finding;
    added
        .def_property_readonly(
            "status",
            word_of(&Self::status),
            "'new', 'known' (listed in the baseline), 'library' (only a change of a library can "
            "fix it), 'benign' (an intentional cycle) or 'ignored' (by configuration). Only new "
            "findings fail checks.")
        .def_property_readonly(
            "collected",
            word_of(&Self::collected),
            "Whether a collection has freed the memory: 'yes', 'not yet' (a scan found it) or "
            "'never' (frozen by gc.freeze(), so no collection frees it).")
        .def_readonly("status_reason",
                      &Self::status_reason,
                      "Why the finding has its status; empty for a new finding.")
        .def_property_readonly("verdict",
                               word_of(&Self::verdict),
                               "The reviewer's verdict: 'bug', 'accepted', 'unclear', or '' if "
                               "there is none.")
        .def_readonly("note", &Self::note, "The reviewer's note; may be empty.");
}

void bind_finding_times(FindingClass& added) {
    using Self = model::Finding;
    added
        .def_readonly("first_seen",
                      &Self::first_seen,
                      "Seconds from the start of the watch to the first occurrence. In a merged "
                      "report, this is the earliest time in any process.")
        .def_readonly("last_seen",
                      &Self::last_seen,
                      "Seconds from the start of the watch to the last occurrence.")
        .def_readonly("dead_for_at_most",
                      &Self::dead_for_at_most,
                      "The longest time, in seconds, that the memory may have been unreachable "
                      "before it was freed.")
        .def_readonly("first_collection",
                      &Self::first_collection,
                      "`Collection.number` of the collection or scan with the first occurrence.")
        .def_readonly("collections",
                      &Self::collections,
                      "Number of collections with at least one occurrence.")
        .def_property_readonly(
            "scans",
            [](const Self& self) { return self.scans.value_or(0); },
            "Number of scans with at least one occurrence.");
}

void bind_finding_lists(FindingClass& added) {
    using Shared = std::shared_ptr<model::Finding>;
    added
        .def_property_readonly("cycle",
                               list_of(&model::Finding::cycle),
                               "The references of the cycle, in order; the last one refers to the "
                               "first holder.")
        .def_property_readonly(
            "cut", &first_cut, "The reference to cut, which is `cuts[0]`; None if `cuts` is empty.")
        .def_property_readonly(
            "cuts",
            [](const Shared& self) { return py::tuple(views(self, self->cut)); },
            "The references whose removal breaks the cycle or frees its memory; usually a single "
            "reference.")
        .def_property_readonly("alternatives",
                               list_of(&model::Finding::alternatives),
                               "Other references that could be cut instead of `cut`, best first.")
        .def_property_readonly("owners",
                               list_of(&model::Finding::owners),
                               "The tensor owners that the cycle retained, largest first.")
        .def_property_readonly(
            "signatures",
            [](const Shared& self) { return model::signatures_of(*self); },
            "`signature` and the signatures of `variants`, without duplicates.")
        .def_property_readonly(
            "variants",
            list_of(&model::Finding::variants),
            "One entry for each signature that was merged into this finding, including "
            "`signature`, largest first. Empty if there is only one signature.")
        .def_property_readonly("by_process",
                               list_of(&model::Finding::by_process),
                               "The occurrences in each process, in the order of "
                               "`Report.processes`.");
}

void bind_finding_sizes(FindingClass& added) {
    using Self = model::Finding;
    added
        .def_readonly("retained_bytes",
                      &Self::retained_bytes,
                      "Retained size: device bytes that only this cycle kept alive, summed over "
                      "all occurrences, counting each storage once.")
        .def_readonly("shared_bytes",
                      &Self::shared_bytes,
                      "Device bytes that other cycles or objects also kept alive.")
        .def_readonly("shared_with",
                      &Self::shared_with,
                      "Number of other findings that share `shared_bytes`. The shared bytes are "
                      "freed once this finding and all of the others are fixed.")
        .def_readonly("attributed_bytes",
                      &Self::attributed_bytes,
                      "`retained_bytes` plus the shared bytes that are assigned to this finding. "
                      "The sum over all findings counts each storage once.")
        .def_readonly(
            "largest_bytes", &Self::largest_bytes, "`retained_bytes` of the largest occurrence.")
        .def_readonly("byte_seconds",
                      &Self::byte_seconds,
                      "Upper bound on the product of the retained bytes and the number of seconds "
                      "for which they were unreachable, summed over all occurrences.")
        .def_readonly("occurrences", &Self::occurrences, "Number of cycles found.")
        .def_readonly("freed_share",
                      &Self::freed_share,
                      "The fraction of the largest occurrence's retained bytes that is freed if "
                      "all references in `cuts` are removed. 0 if unknown, or if another cycle "
                      "also retains the memory.");
}

}  // namespace

py::object shape_or_none(const std::string& text) {
    if (text.empty()) {
        return py::none();
    }
    if (text.front() != '[' || text.back() != ']') {
        return py::make_tuple(text);
    }
    py::list dimensions;
    std::istringstream words(text.substr(1, text.size() - 2));
    for (std::string word; std::getline(words >> std::ws, word, ',');) {
        long long number = 0;
        const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
        const bool is_number = error == std::errc{} && end == word.data() + word.size();
        dimensions.append(is_number ? py::object(py::int_(number)) : py::object(py::str(word)));
    }
    return py::tuple(dimensions);
}

void bind_finding_texts(FindingClass& finding) {
    using Self = model::Finding;
    finding
        .def(
            "to_text",
            [](const Self& self, std::size_t rank, std::size_t width) {
                return render::render_card(self, rank, width);
            },
            py::arg("rank") = 1,
            py::arg("width") = render::kUsualWidth,
            "Render the card of this finding in at most 25 lines.\n\n"
            "Args:\n"
            "    rank: Number in the card's heading.\n"
            "    width: Maximum line length in columns.\n\n"
            "Examples:\n"
            "    >>> print(finding.to_text(rank=3))\n"
            "    #3  4.0 KiB in 1 cycle   [bound-method-on-self]\n"
            "        Trainer.hook -> run.__self__ -> Trainer\n"
            "        ...")
        .def(
            "to_svg",
            [](const Self& self) { return render::render_svg(self); },
            "Render the cycle as an SVG image.\n\n"
            "Examples:\n"
            "    >>> print(finding.to_svg())\n"
            "    <?xml ...<svg ...")
        .def("__repr__", [](const Self& self) {
            return "<Finding " + self.signature + ": " + quoted(self.title) + ", " +
                   base::format_bytes(model::reached_bytes(self)) + ", seen " +
                   std::to_string(self.occurrences) + " times>";
        });
}

void bind_finding(py::module_& module) {
    bind_source_excerpt(module);
    bind_reference(module);
    bind_owner(module);
    bind_process_occurrences(module);
    bind_variant(module);

    using Self = model::Finding;
    FindingClass added(
        module,
        "Finding",
        "A reference cycle that kept device memory alive.\n\n"
        "Cycles with the same signature are grouped into one finding. Immutable.\n\n"
        "Examples:\n"
        "    >>> finding = report.findings[0]\n"
        "    >>> finding.title, finding.retained_bytes, finding.pattern\n"
        "    ('Trainer.hook -> run.__self__ -> Trainer', 4096, "
        "'bound-method-on-self')\n"
        "    >>> print(finding.advice)\n"
        "    Look the method up on each call, or store a function that calls it through a "
        "weakref.WeakMethod. In code: `lambda *args, **kwargs: (m := ref()) and m(*args, "
        "**kwargs)`, with `ref = weakref.WeakMethod(self.run)`; it returns None once the object is "
        "freed.");
    of_package(added)
        .def_readonly("signature",
                      &Self::signature,
                      "Identifies the cycle: 'cw1-' and 16 hexadecimal digits. The same in every "
                      "run and on every rank and machine.")
        .def_readonly("pattern", &Self::pattern, "Id of the matching Pattern, or 'unknown'.")
        .def_readonly("title", &Self::title, "The cycle in short: 'Engine.hook -> Engine'.")
        .def_property_readonly(
            "headline",
            &render::headline,
            "One sentence: the number of cycles, their retained size, and the reference to cut.")
        .def_readonly("remedy", &Self::remedy, "Names the references to cut, in a few words.")
        .def_readonly("advice",
                      &Self::advice,
                      "How to change the code, in one or two sentences; empty if unknown.")
        .def_readonly("cost",
                      &Self::cost,
                      "A disadvantage of the change, without a final period; empty if unknown.")
        .def_readonly("tie",
                      &Self::tie,
                      "True if `cut` is not clearly better than `alternatives[0]`: the evidence "
                      "for both references is about equally strong.")
        .def_readonly("omitted_cuts",
                      &Self::omitted_cuts,
                      "Number of kinds of references that must also be cut but were omitted from "
                      "`cuts`, because the list would be too long.")
        .def_readonly(
            "omitted_owners", &Self::omitted_owners, "Number of owners omitted from `owners`.");
    bind_finding_sizes(added);
    bind_finding_times(added);
    bind_finding_lists(added);
    bind_finding_status(added);
    bind_finding_texts(added);
}

}  // namespace cyclewatch::bindings
