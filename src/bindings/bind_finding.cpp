// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>

#include <charconv>
#include <memory>
#include <sstream>
#include <string>

#include "base/text.h"
#include "bindings/bind.h"
#include "bindings/bind_fields.h"
#include "bindings/values.h"
#include "model/finding.h"
#include "model/mistake.h"
#include "render/renderer.h"
#include "render/summary.h"
#include "render/svg/svg_renderer.h"

namespace cyclewatch::bindings {
namespace {

using FindingClass = py::class_<model::Finding, std::shared_ptr<model::Finding>>;

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
    add_struct<Self>(module,
                     "Examples:\n"
                     "    >>> source = finding.cut.source\n"
                     "    >>> print(source.lines[source.line - source.first_line].strip())\n"
                     "    self.hook = self.run")
        .def_property_readonly("columns",
                               &columns_or_none,
                               "The column at which the expression on `line` begins, counted from "
                               "1, and the column after its end; None if unknown.")
        .def("__repr__", [](const Self& self) {
            return "<SourceExcerpt of line " + std::to_string(self.line) + ">";
        });
}

void bind_reference(py::module_& module) {
    using Self = model::Reference;
    add_struct<Self>(module,
                     "An instance and its `__dict__` are treated as one object.\n\n"
                     "Examples:\n"
                     "    >>> finding.cut\n"
                     "    <Reference bound method __main__.Trainer.run __self__ -> "
                     "__main__.Trainer>\n"
                     "    >>> [reference.label for reference in finding.cycle]\n"
                     "    ['.hook', '__self__']")
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
    add_struct<Self>(module,
                     "Examples:\n"
                     "    >>> [owner] = finding.owners\n"
                     "    >>> owner.path, owner.nbytes, owner.device\n"
                     "    ('Trainer.batch', 4096, 'cpu')")
        .def_property_readonly(
            "shape", [](const Self& self) { return shape_or_none(self.shape); }, kShapeDoc)
        .def("__repr__", [](const Self& self) {
            return "<Owner " + base::clean_text(self.type) + " " + base::format_bytes(self.bytes) +
                   " on " + base::clean_text(self.device) + " at " + quoted(self.path) + ">";
        });
}

void bind_process_occurrences(py::module_& module) {
    using Self = model::ProcessOccurrences;
    add_struct<Self>(module,
                     "Examples:\n"
                     "    >>> [occurrences] = finding.by_process\n"
                     "    >>> report.processes[occurrences.process].script, "
                     "occurrences.occurrences\n"
                     "    ('train', 1)")
        .def("__repr__", [](const Self& self) {
            return "<ProcessOccurrences in process " + std::to_string(self.process) + ": " +
                   std::to_string(self.occurrences) + " times, " +
                   base::format_bytes(self.retained_bytes) + ">";
        });
}

void bind_variant(py::module_& module) {
    using Self = model::Variant;
    add_struct<Self>(module,
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
                     "    ['FineTuner', 'Trainer']")
        .def("__repr__", [](const Self& self) {
            return "<Variant " + self.signature + ": " + quoted(self.title) + ">";
        });
}

void bind_derived_values(FindingClass& finding) {
    using Shared = std::shared_ptr<model::Finding>;
    finding
        .def_property_readonly(
            "headline",
            &render::headline,
            "One sentence: the number of cycles, their retained size, and the reference to cut.")
        .def_property_readonly(
            "cut", &first_cut, "The reference to cut, which is `cuts[0]`; None if `cuts` is empty.")
        .def_property_readonly(
            "cuts",
            [](const Shared& self) { return py::tuple(views(self, self->cut)); },
            doc_of<&model::Finding::cut>().c_str())
        .def_property_readonly(
            "signatures",
            [](const Shared& self) { return model::signatures_of(*self); },
            "`signature` and the signatures of `variants`, without duplicates.");
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

    FindingClass added = add_struct<model::Finding>(
        module,
        "Immutable.\n\n"
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
    bind_derived_values(added);
    bind_finding_texts(added);
}

}  // namespace cyclewatch::bindings
