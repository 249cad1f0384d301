// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "bindings/bind.h"
#include "bindings/values.h"
#include "model/retention.h"
#include "watch/dispatcher.h"

namespace cyclewatch::bindings {
namespace {

using PathClass = py::class_<model::RetentionPath, std::shared_ptr<model::RetentionPath>>;
using RootClass = py::class_<model::PathRoot, std::shared_ptr<model::PathRoot>>;

void bind_root(py::module_& module) {
    RootClass added(module,
                    "PathRoot",
                    "Where a Path begins: what keeps its first object alive. Immutable.\n\n"
                    "Examples:\n"
                    "    >>> cache = [Trainer()]\n"
                    "    >>> root = cyclewatch.why_alive(cache[0])[0].root\n"
                    "    >>> root.kind, root.text\n"
                    "    ('module global', 'module global __main__.cache')");
    of_package(added)
        .def_property_readonly("kind",
                               word_of(&model::PathRoot::kind),
                               "'local variable', 'module global', 'class attribute', 'exit "
                               "handler', 'context variable', 'thread local', 'exception', "
                               "'interpreter' or 'C code'.")
        .def_readonly("text", &model::PathRoot::text, "The name: 'train() local model'.")
        .def_property_readonly("location",
                               text_or_none(&model::PathRoot::location),
                               "'path:line' of a running function, otherwise None.")
        .def("__str__", [](const model::PathRoot& self) { return self.text; })
        .def("__repr__",
             [](const model::PathRoot& self) { return "<PathRoot " + quoted(self.text) + ">"; });
}

void bind_path(py::module_& module) {
    PathClass added(module,
                    "Path",
                    "The references from a root to an object. Immutable.\n\n"
                    "``str(path)`` is one line, as the references would be written in Python.\n\n"
                    "Examples:\n"
                    "    >>> cache = {'last': [Trainer()]}\n"
                    "    >>> path = cyclewatch.why_alive(cache['last'][0])[0]\n"
                    "    >>> print(path)\n"
                    "    module global __main__.cache -> cache['last'][0]\n"
                    "    >>> [reference.label for reference in path.references]\n"
                    "    ['.cache', \"['last']\", '[0]']\n"
                    "    >>> path.cut.label, path.cut_frees\n"
                    "    ('[0]', True)");
    of_package(added)
        .def_property_readonly(
            "root",
            [](const std::shared_ptr<model::RetentionPath>& self) {
                return std::shared_ptr<model::PathRoot>(self, &self->root);
            },
            "What keeps the first object alive.")
        .def_property_readonly("references",
                               list_of(&model::RetentionPath::references),
                               "In order, the last one leads to the object. Attribute dicts, "
                               "closures and the dicts of an ``nn.Module`` are folded.")
        .def_property_readonly(
            "cut",
            [](const std::shared_ptr<model::RetentionPath>& self) -> py::object {
                if (!self->cut) {
                    return py::none();
                }
                return py::cast(std::shared_ptr<model::Reference>(self, &*self->cut));
            },
            "The reference to remove; None if the program cannot remove any.")
        .def_readonly("cut_frees",
                      &model::RetentionPath::cut_frees,
                      "Whether removing `cut` frees the object. False if another path does not "
                      "contain it.")
        .def("__str__", [](const model::RetentionPath& self) { return self.text; })
        .def("__repr__",
             [](const model::RetentionPath& self) { return "<Path " + quoted(self.text) + ">"; });
}

py::tuple why_alive(const py::list& box, std::size_t paths, bool ignore_caller) {
    if (box.size() != 1) {
        throw py::value_error("expects a list with one object");
    }
    base::Result<retention::WhyAlive> answer = watch::Dispatcher::instance().why_alive(
        box.ptr(),
        paths,
        ignore_caller ? retention::CallerVariables::ignore_target
                      : retention::CallerVariables::count);
    if (!answer.ok()) {
        throw std::runtime_error(answer.error());
    }
    py::list list;
    for (model::RetentionPath& path : answer.value().paths) {
        list.append(std::make_shared<model::RetentionPath>(std::move(path)));
    }
    return py::make_tuple(list, answer.value().in_cycle);
}

}  // namespace

void bind_retention(py::module_& module) {
    bind_root(module);
    bind_path(module);
    module.def("why_alive",
               &why_alive,
               Locked(),
               "The paths to the item of a list, and whether only reference cycles hold it.");
}

}  // namespace cyclewatch::bindings
