// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <string>
#include <string_view>

#include "base/byte_size.h"
#include "bindings/bind.h"
#include "bindings/values.h"
#include "model/finding.h"
#include "model/mistake.h"
#include "render/renderer.h"
#include "render/summary.h"

namespace cyclewatch::bindings {
namespace {

using FindingClass = py::class_<model::Finding, std::shared_ptr<model::Finding>>;
using ReferenceClass = py::class_<model::Reference, std::shared_ptr<model::Reference>>;
using OwnerClass = py::class_<model::OwnerSummary, std::shared_ptr<model::OwnerSummary>>;

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

void bind_reference(py::module_& module) {
    using model::Reference;
    ReferenceClass added(module,
                         "Reference",
                         "One reference of a cycle, from a holder to a target, as a person thinks "
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
            "Why to cut it; for an alternative, what cutting it costs. None for other references.")
        .def_readonly("raw_path",
                      &Reference::raw_path,
                      "The interpreter's own references that this one stands for, in order.")
        .def_readonly(
            "payload",
            &Reference::payload,
            "True if it is off the cycle: cutting it keeps the cycle and drops the memory.")
        .def("__repr__", [](const Reference& self) {
            return "<Reference " + self.holder + " " + self.label + " -> " + self.target + ">";
        });
}

void bind_owner(py::module_& module) {
    using model::OwnerSummary;
    OwnerClass added(module,
                     "Owner",
                     "An object that owned device memory and died with the cycle; equal ones are "
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
        .def_readonly("path", &OwnerSummary::path, "How the cycle reaches it: 'Node.data'.")
        .def_readonly("count", &OwnerSummary::count, "How many owners were equal to this one.")
        .def_property_readonly(
            "allocated_at",
            [](const OwnerSummary& self) { return text_or_none(self.allocated_at); },
            "'path:line' that created it, as tracemalloc recorded, or that allocated its memory, "
            "as torch's memory history did; None if neither says.")
        .def("__repr__", [](const OwnerSummary& self) {
            return "<Owner " + self.type + " " + base::format_bytes(self.bytes) + " on " +
                   self.device + " at " + quoted(self.path) + ">";
        });
}

void bind_process_occurrences(py::module_& module) {
    using model::ProcessOccurrences;
    py::class_<ProcessOccurrences, std::shared_ptr<ProcessOccurrences>> added(
        module, "ProcessOccurrences", "What one process saw of a finding.");
    of_package(added)
        .def_readonly(
            "process", &ProcessOccurrences::process, "Which of the report's `processes`, from 0.")
        .def_readonly("occurrences", &ProcessOccurrences::occurrences, "Cycles it saw.")
        .def_readonly("retained_bytes",
                      &ProcessOccurrences::retained_bytes,
                      "Device bytes that only these kept.")
        .def_readonly("first_seen",
                      &ProcessOccurrences::first_seen,
                      "Seconds since that process's watch began.")
        .def_property_readonly(
            "first_step",
            [](const ProcessOccurrences& self) { return step_or_none(self.first_step); },
            "The program's own step then, as it told Watch.step(); None if it told none.")
        .def("__repr__", [](const ProcessOccurrences& self) {
            return "<ProcessOccurrences in process " + std::to_string(self.process) + ": " +
                   std::to_string(self.occurrences) + " times, " +
                   base::format_bytes(self.retained_bytes) + ">";
        });
}

void bind_variant(py::module_& module) {
    using model::Variant;
    py::class_<Variant, std::shared_ptr<Variant>> added(
        module, "Variant", "The cycles of one signature in a finding merged from several.");
    of_package(added)
        .def_readonly("signature", &Variant::signature, "Like a finding's.")
        .def_readonly(
            "name", &Variant::name, "Short name of the object that tells it apart: 'F1Score'.")
        .def_readonly("title", &Variant::title, "The cycle in short.")
        .def_property_readonly(
            "location",
            [](const Variant& self) { return text_or_none(self.location); },
            "'path:line' of the change that ends it; None if not known.")
        .def_readonly("occurrences", &Variant::occurrences, "Cycles of that signature.")
        .def_readonly("bytes", &Variant::bytes, "Device bytes they held, and bytes they shared.")
        .def("__repr__", [](const Variant& self) {
            return "<Variant " + self.signature + ": " + quoted(self.title) + ">";
        });
}

void bind_finding_opinions(FindingClass& added) {
    using model::Finding;
    added
        .def_readonly("advice",
                      &Finding::advice,
                      "What to write instead, in a sentence or two; empty if nothing is known.")
        .def_property_readonly(
            "status",
            [](const Finding& self) { return model::word_of(self.status); },
            "'new', 'known' (in the baseline), 'library' (a known leak of a library), 'benign' "
            "or 'ignored' (you said so). Only a new one warns, and fails what is to fail.")
        .def_readonly("status_reason",
                      &Finding::status_reason,
                      "Why it has that status, in words; empty for a new one.")
        .def_property_readonly(
            "verdict",
            [](const Finding& self) { return model::word_of(self.verdict); },
            "The reader's own: 'bug', 'accepted', 'unclear', or '' if none was given.")
        .def_readonly("note", &Finding::note, "The reader's own words; empty if there are none.");
}

void bind_finding_times(FindingClass& added) {
    using model::Finding;
    added
        .def_readonly("first_seen",
                      &Finding::first_seen,
                      "Seconds since the watch began, of whichever process saw it soonest.")
        .def_readonly("last_seen", &Finding::last_seen, "Seconds, likewise.")
        .def_readonly("dead_for_at_most",
                      &Finding::dead_for_at_most,
                      "Seconds: the longest the memory can have waited for a collection.")
        .def_readonly("first_collection",
                      &Finding::first_collection,
                      "Number of the collection that first found it unreachable.")
        .def_readonly("collections",
                      &Finding::collections,
                      "Collections that found at least one unreachable.");
}

void bind_finding_lists(FindingClass& added) {
    using Self = std::shared_ptr<model::Finding>;
    added
        .def_property_readonly(
            "cycle",
            [](const Self& self) { return views(self, self->cycle); },
            "The references of the cycle in order; the last one leads back to the first holder.")
        .def_property_readonly(
            "cut", &first_cut, "The reference to cut; the first of `cuts`, None if there is none.")
        .def_property_readonly(
            "cuts",
            [](const Self& self) { return py::tuple(views(self, self->cut)); },
            "The smallest set of references whose removal ends the cycle; mostly one.")
        .def_property_readonly(
            "alternatives",
            [](const Self& self) { return views(self, self->alternatives); },
            "Other references that would do, next best first.")
        .def_property_readonly(
            "owners",
            [](const Self& self) { return views(self, self->owners); },
            "What held the memory, largest first.")
        .def_property_readonly(
            "signatures",
            [](const Self& self) { return model::signatures_of(*self); },
            "`signature` and those of `variants`, each once: what the finding may be known by.")
        .def_property_readonly(
            "variants",
            [](const Self& self) { return views(self, self->variants); },
            "Cycles of several signatures that one change in the code ends, largest first, the "
            "one that is shown included; empty if all have the same signature.")
        .def_property_readonly(
            "by_process",
            [](const Self& self) { return views(self, self->by_process); },
            "What each process saw of it, in the order of the report's `processes`.");
}

}  // namespace

void bind_finding(py::module_& module) {
    bind_reference(module);
    bind_owner(module);
    bind_process_occurrences(module);
    bind_variant(module);

    using model::Finding;
    FindingClass added(module,
                       "Finding",
                       "One reference cycle that kept device memory alive. Equal cycles are one "
                       "finding with a count.");
    of_package(added)
        .def_readonly("signature",
                      &Finding::signature,
                      "The same on every run, rank and machine: 'cw1-' and 16 digits.")
        .def_readonly("pattern", &Finding::pattern, "What kind of cycle it is, or 'unknown'.")
        .def_readonly("title", &Finding::title, "The cycle in short: 'Engine.hook -> Engine'.")
        .def_property_readonly("headline",
                               &render::headline,
                               "One sentence: how many cycles keep how much alive, all occurrences "
                               "together, and what to cut.")
        .def_readonly(
            "remedy", &Finding::remedy, "What to cut, in a few words: the sentence's end.")
        .def_readonly("retained_bytes",
                      &Finding::retained_bytes,
                      "Device bytes that only this cycle kept, each storage once, over all "
                      "occurrences.")
        .def_readonly(
            "shared_bytes", &Finding::shared_bytes, "Device bytes that other cycles kept as well.")
        .def_readonly("shared_with",
                      &Finding::shared_with,
                      "How many other findings share `shared_bytes`: freed once all are fixed.")
        .def_readonly("attributed_bytes",
                      &Finding::attributed_bytes,
                      "retained_bytes, and the part of shared_bytes that no other finding is "
                      "attributed: summed over findings, each storage counts once.")
        .def_readonly(
            "largest_bytes", &Finding::largest_bytes, "retained_bytes of the largest occurrence.")
        .def_readonly("byte_seconds",
                      &Finding::byte_seconds,
                      "retained_bytes times the seconds they waited at most, over all occurrences.")
        .def_readonly("occurrences", &Finding::occurrences, "Cycles with this signature.")
        .def_readonly(
            "tie",
            &Finding::tie,
            "True if the first alternative is as good as the reference to cut, or only names "
            "tell the two apart.")
        .def_readonly(
            "freed_share",
            &Finding::freed_share,
            "What `cuts` frees of retained_bytes: 1 is all; 0 means that it is not known, or "
            "nothing by itself, as where another cycle leads to this one. Of the largest "
            "occurrence.")
        .def_readonly("omitted_cuts",
                      &Finding::omitted_cuts,
                      "Kinds of references that must go as well and are not in `cuts`: many lead "
                      "back to one owner.")
        .def_readonly("omitted_owners",
                      &Finding::omitted_owners,
                      "Owners left out of `owners` to keep it short.")
        .def(
            "to_text",
            [](const Finding& self, std::size_t rank, std::size_t width) {
                return render::render_card(self, rank, width);
            },
            py::arg("rank") = 1,
            py::arg("width") = render::kUsualWidth,
            "The card of this finding: at most 25 lines of `width` columns.")
        .def("__repr__", [](const Finding& self) {
            return "<Finding " + self.signature + ": " + quoted(self.title) + ", " +
                   base::format_bytes(model::reached_bytes(self)) + ", seen " +
                   std::to_string(self.occurrences) + " times>";
        });
    bind_finding_times(added);
    bind_finding_lists(added);
    bind_finding_opinions(added);
}

}  // namespace cyclewatch::bindings
