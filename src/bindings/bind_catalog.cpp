// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "advice/catalog.h"
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

std::string text_in(const py::handle& table, const char* key) {
    return table[key].cast<std::string>();
}

advice::Step step_of(const py::handle& globs) {
    const auto [holder, label, target] = globs.cast<std::array<std::string, 3>>();
    return {holder, label, target};
}

advice::Library library_in(const py::handle& table) {
    return {text_in(table, "package"),
            text_in(table, "versions"),
            table["first"].cast<advice::Release>(),
            table["fixed_in"].cast<advice::Release>()};
}

// `table`: a pattern that cyclewatch/settings/configuration_reader.py has checked.
Pattern pattern_of(const py::handle& table) {
    Pattern pattern;
    pattern.id = text_in(table, "id");
    pattern.title = text_in(table, "title");
    pattern.shape = text_in(table, "shape");
    const py::object words = table["words"];
    pattern.words = {text_in(words, "explanation"), text_in(words, "advice"), {}};
    pattern.before = text_in(table, "before");
    pattern.after = text_in(table, "after");
    pattern.links = table["links"].cast<std::vector<std::string>>();
    pattern.benign = table["benign"].cast<bool>();
    if (const py::object library = table["library"]; !library.is_none()) {
        pattern.library = library_in(library);
    }
    for (const py::handle step : table["steps"]) {
        pattern.steps.push_back(step_of(step));
    }
    if (const py::object suggests = table["suggests"]; !suggests.is_none()) {
        pattern.suggests = step_of(suggests);
    }
    return pattern;
}

advice::Suppression suppression_of(const py::handle& table) {
    return {text_in(table, "signature"), text_in(table, "pattern"), text_in(table, "reason")};
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
        "built_in_patterns",
        [] { return advice::Catalog::built_in().patterns(); },
        "The patterns of patterns.toml.");
    module.def(
        "configure",
        [](const py::list& patterns, const py::list& suppressions) {
            std::vector<Pattern> users;
            std::ranges::transform(patterns, std::back_inserter(users), pattern_of);
            std::vector<advice::Suppression> ignored;
            std::ranges::transform(suppressions, std::back_inserter(ignored), suppression_of);
            rules().configure(std::move(users), std::move(ignored));
            watch::Dispatcher::instance().reclassify();
        },
        Locked(),
        "Replaces the configuration by the tables that configuration_reader.read() returns.");
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
            rules().ignore({std::move(signature), std::move(pattern), std::move(reason)});
            watch::Dispatcher::instance().reclassify();
        },
        Locked());
}

}  // namespace cyclewatch::bindings
