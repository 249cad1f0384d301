// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "advice/rules.h"
#include "base/code_roots.h"
#include "bindings/bind.h"
#include "bindings/values.h"
#include "watch/dispatcher.h"

namespace cyclewatch::bindings {
namespace {

using advice::Pattern;

py::object library_of(const Pattern& pattern) {
    return pattern.library.has_value()
               ? py::object(py::str(pattern.library->package + " " + pattern.library->versions))
               : py::object(py::none());
}

base::Origin origin_named(const std::string& name) {
    if (name == "user") {
        return base::Origin::user;
    }
    return name == "library" ? base::Origin::library : base::Origin::standard_library;
}

advice::Rules& rules() {
    return watch::Dispatcher::instance().rules();
}

}  // namespace

void bind_catalog(py::module_& module) {
    py::class_<Pattern> added(
        module,
        "Pattern",
        "A class of reference cycles, with an explanation and advice.\n\n"
        "Examples:\n"
        "    >>> [pattern] = [each for each in cyclewatch.patterns() if each.id == "
        "finding.pattern]\n"
        "    >>> pattern.title\n"
        "    'A bound method stored on its own instance'");
    of_package(added)
        .def_readonly("id", &Pattern::id, "The value of Finding.pattern.")
        .def_readonly("title", &Pattern::title, "Short title.")
        .def_readonly("shape", &Pattern::shape, "Description of the references in the cycle.")
        .def_property_readonly(
            "explanation",
            [](const Pattern& self) { return self.words.explanation; },
            "Why the cycle keeps memory alive. {holder}, {target}, {label} and {variable} are "
            "placeholders for names in the reference to cut.")
        .def_property_readonly(
            "advice",
            [](const Pattern& self) { return self.words.advice; },
            "How to change the code, with the same placeholders.")
        .def_readonly("before", &Pattern::before, "Example code that creates such a cycle.")
        .def_readonly("after", &Pattern::after, "The example, fixed.")
        .def_readonly("links", &Pattern::links, "Links to public examples.")
        .def_property_readonly(
            "tags",
            &Pattern::tags,
            "'benign' for intentional cycles, 'library' for known leaks in libraries.")
        .def_property_readonly("library",
                               &library_of,
                               "The affected package and versions, such as 'torch >=2.1'; None if "
                               "the pattern is not specific to a library.")
        .def("__repr__", [](const Pattern& self) { return "<Pattern " + self.id + ">"; });
    module.def(
        "patterns",
        [] { return rules().patterns(); },
        Locked(),
        "The configured patterns, then the built-in ones.");
    module.def(
        "configure",
        [](const std::string& json) {
            std::vector<std::string> problems = rules().configure(json);
            watch::Dispatcher::instance().reclassify();
            return problems;
        },
        Locked(),
        "Replaces the configuration; returns a sentence for each problem in the new "
        "configuration.");
    module.def(
        "set_code_roots",
        [](const std::map<std::string, std::string>& roots) {
            std::vector<base::CodeRoot> list;
            list.reserve(roots.size());
            for (const auto& [path, origin] : roots) {
                list.push_back({path, origin_named(origin)});
            }
            base::set_code_roots(std::move(list));
        },
        Locked(),
        "Sets the origin (user, library or standard library) of the files in each folder.");
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
