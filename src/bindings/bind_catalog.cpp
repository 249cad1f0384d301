// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>

#include <string>
#include <utility>
#include <vector>

#include "bindings/bind.h"
#include "bindings/values.h"
#include "catalog/rules.h"
#include "watch/dispatcher.h"

namespace cyclewatch::bindings {
namespace {

using catalog::Pattern;

py::object library_of(const Pattern& pattern) {
    return pattern.library.has_value()
               ? py::object(py::str(pattern.library->package + " " + pattern.library->versions))
               : py::object(py::none());
}

catalog::Rules& rules() {
    return watch::Dispatcher::instance().rules();
}

}  // namespace

void bind_catalog(py::module_& module) {
    py::class_<Pattern> added(module, "Pattern", "One kind of cycle, and what is said about it.");
    of_package(added)
        .def_readonly("id", &Pattern::id, "What Finding.pattern says.")
        .def_readonly("title", &Pattern::title, "A few words.")
        .def_readonly("shape", &Pattern::shape, "What such a cycle looks like, in words.")
        .def_property_readonly(
            "explanation",
            [](const Pattern& self) { return self.words.explanation; },
            "Why it keeps memory; {holder}, {target}, {label} and {variable} stand for parts of "
            "the reference to cut.")
        .def_property_readonly(
            "advice",
            [](const Pattern& self) { return self.words.advice; },
            "What to write instead; with the same slots.")
        .def_readonly("before", &Pattern::before, "A few lines of code that leak.")
        .def_readonly("after", &Pattern::after, "The same, mended.")
        .def_readonly("links", &Pattern::links, "Public cases of this kind.")
        .def_property_readonly(
            "tags", &Pattern::tags, "'benign' for cycles by design, 'library' for known leaks.")
        .def_property_readonly(
            "library", &library_of, "The package and its versions, such as 'torch >=2.1'; or None.")
        .def("__repr__", [](const Pattern& self) { return "<Pattern " + self.id + ">"; });
    module.def(
        "patterns",
        [] { return rules().patterns(); },
        Locked(),
        "The patterns of the configuration, then the built-in ones.");
    module.def(
        "configure",
        [](const std::string& json) {
            std::vector<std::string> problems = rules().configure(json);
            watch::Dispatcher::instance().reclassify();
            return problems;
        },
        Locked(),
        "Takes a configuration in place of the one before; returns a sentence for each problem.");
    module.def(
        "ignore",
        [](std::string signature, std::string pattern, std::string reason) {
            const std::string problem =
                rules().ignore({std::move(signature), std::move(pattern), std::move(reason)});
            if (!problem.empty()) {
                throw py::value_error(problem);
            }
            watch::Dispatcher::instance().reclassify();
        },
        Locked());
}

}  // namespace cyclewatch::bindings
