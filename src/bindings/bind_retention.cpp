// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "bindings/bind.h"
#include "bindings/values.h"
#include "model/retention.h"
#include "render/summary.h"
#include "retention/named_references.h"
#include "watch/dispatcher.h"

namespace cyclewatch::bindings {
namespace {

using PathClass = py::class_<model::RetentionPath, std::shared_ptr<model::RetentionPath>>;
using RootClass = py::class_<model::PathRoot, std::shared_ptr<model::PathRoot>>;

void bind_root(py::module_& module) {
    RootClass added(module,
                    "PathRoot",
                    "The start of a Path, such as a variable or a module. It keeps the path's "
                    "first object alive. Immutable.\n\n"
                    "Examples:\n"
                    "    >>> cache = [Trainer()]\n"
                    "    >>> root = cyclewatch.why_alive(cache[0])[0].root\n"
                    "    >>> root.kind, root.text\n"
                    "    ('module global', 'module global __main__.cache')");
    of_package(added)
        .def_property_readonly("kind",
                               word_of(&model::PathRoot::kind),
                               "'local variable', 'module global', 'class attribute', "
                               "'context variable', 'thread local', 'exception', "
                               "'interpreter' or 'C code'.")
        .def_readonly(
            "text",
            &model::PathRoot::text,
            "The name: 'train() local model', or 'thread gpu-0: train() local model' if the "
            "root belongs to another thread.")
        .def_property_readonly("location",
                               text_or_none(&model::PathRoot::location),
                               "'path:line' if the root is a local variable of a running "
                               "function; otherwise None.")
        .def("__str__", [](const model::PathRoot& self) { return base::clean_text(self.text); })
        .def("__repr__",
             [](const model::PathRoot& self) { return "<PathRoot " + quoted(self.text) + ">"; });
}

void bind_path(py::module_& module) {
    PathClass added(module,
                    "Path",
                    "The references from a root to an object. Immutable.\n\n"
                    "``str(path)`` formats the references as Python code, on one line.\n\n"
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
            "The start of the path, a PathRoot.")
        .def_property_readonly(
            "references",
            list_of(&model::RetentionPath::references),
            "The references in order; the last one refers to the object. Attribute dicts, "
            "closures and the dicts of an ``nn.Module`` are not shown as "
            "separate objects.")
        .def_property_readonly(
            "cut",
            [](const std::shared_ptr<model::RetentionPath>& self) -> py::object {
                if (!self->cut) {
                    return py::none();
                }
                return py::cast(std::shared_ptr<model::Reference>(self, &*self->cut));
            },
            "The reference to remove; None if the program cannot remove any reference of the path.")
        .def_readonly(
            "cut_frees",
            &model::RetentionPath::cut_frees,
            "Whether removing `cut` frees the object: at once, or at the next collection if "
            "the object is part of a cycle. False if another path does not contain "
            "`cut`. Also False if C++ objects, such as an autograd graph, may refer to the "
            "object.")
        .def_property_readonly(
            "remedy",
            [](const model::RetentionPath& self) {
                return text_or_none(self.remedy.value_or(std::string()));
            },
            "How to remove `cut`, such as 'delete `model.cache` or set it to None "
            "(train.py:12)'; None if that is not known.")
        .def("__str__",
             [](const model::RetentionPath& self) { return base::clean_text(self.text); })
        .def("__repr__",
             [](const model::RetentionPath& self) { return "<Path " + quoted(self.text) + ">"; });
}

// Adds the properties that LiveOwner and GrowingOwner have in common.
template <typename Self, typename Class>
Class& add_owner_properties(Class& added) {
    return added
        .def_property_readonly(
            "type", [](const Self& self) { return self.owner.type; }, "'torch.Tensor'")
        .def_property_readonly(
            "device", [](const Self& self) { return self.owner.device; }, "'cuda:0', 'cpu'")
        .def_property_readonly(
            "shape",
            [](const Self& self) { return shape_or_none(self.owner.shape); },
            "The dimensions, outermost first; None if the owner has no shape.")
        .def_property_readonly(
            "dtype",
            [](const Self& self) { return text_or_none(self.owner.dtype); },
            "The data type, such as 'float32'; None if the owner has none.")
        .def_property_readonly(
            "count", [](const Self& self) { return self.owner.count; }, "Number of storages.")
        .def_readonly("nbytes", &Self::bytes, "Size of all storages in bytes, counting each once.");
}

void bind_live_owner(py::module_& module) {
    using Self = model::LiveOwner;
    py::class_<Self, std::shared_ptr<Self>> added(
        module,
        "LiveOwner",
        "A group of reachable tensors, such as the weights of all layers. The tensors have the "
        "same type, device, shape and dtype, and equivalent paths. Immutable.\n\n"
        "Examples:\n"
        "    >>> trainers = [Trainer(), Trainer()]\n"
        "    >>> [owner] = cyclewatch.live_owners(min_bytes=4096)\n"
        "    >>> owner.type, owner.count, owner.nbytes, owner.device\n"
        "    ('__main__.Buffer', 2, 8192, 'cpu')\n"
        "    >>> print(owner.held_by[0])\n"
        "    module global __main__.trainers -> trainers[0].batch");
    add_owner_properties<Self>(of_package(added))
        .def_property_readonly("category",
                               word_of(&Self::category),
                               "'parameter', 'gradient', 'optimizer state', 'saved for backward' "
                               "(referenced only by C++ code), 'activation' or 'other'.")
        .def_property_readonly(
            "allocated_at",
            [](const Self& self) { return text_or_none(self.owner.allocated_at); },
            "'path:line' of the code that created one of the tensors; None if tracemalloc is not "
            "tracing.")
        .def_property_readonly(
            "held_by",
            list_of(&Self::held_by),
            "One or two paths to one of the tensors, as returned by :func:`why_alive`.")
        .def("__str__", [](const Self& self) { return render::live_owner_sentence(self); })
        .def("__repr__", [](const Self& self) {
            return "<LiveOwner " + render::live_owner_sentence(self) + ">";
        });
}

void bind_growing_owner(py::module_& module) {
    using Self = model::GrowingOwner;
    py::class_<Self, std::shared_ptr<Self>> added(
        module,
        "GrowingOwner",
        "A group of reachable tensors whose total memory use is growing. The tensors have the same "
        "type, device, shape and dtype, and equivalent paths. Immutable.\n\n"
        "Examples:\n"
        "    >>> trainers = []\n"
        "    >>> with cyclewatch.watch(devices='cpu', budget=1, census_every=1) as watch:\n"
        "    ...     for step in range(6):\n"
        "    ...         trainers.append(Trainer())\n"
        "    ...         watch.step(step)\n"
        "    >>> [growing] = watch.report().growing\n"
        "    >>> growing.count, growing.nbytes, growing.rate, growing.unit\n"
        "    (6, 24576, 4096.0, 'step')\n"
        "    >>> growing.held_by\n"
        "    'module global __main__.trainers -> trainers[0].batch'");
    add_owner_properties<Self>(of_package(added))
        .def_property_readonly(
            "held_by",
            text_or_none(&Self::held_by),
            "The path to one of the tensors, in the format of :func:`why_alive`; None "
            "if unknown.")
        .def_readonly("census_bytes",
                      &Self::census_bytes,
                      "The total size in bytes in each of the latest censuses (at most six), "
                      "oldest first. The last size is `nbytes`.")
        .def_readonly("rate", &Self::rate, "Additional bytes per `unit`.")
        .def_property_readonly("unit",
                               word_of(&Self::unit),
                               "'step' (a call to Watch.step()), or 'second' for `cyclewatch run`.")
        .def_property_readonly(
            "until_full",
            [](const Self& self) {
                return self.until_full < 0 ? std::optional<double>() : self.until_full;
            },
            "The number of steps or seconds (see `unit`) until the device is full at this rate, if "
            "nothing else is allocated; None if the device's capacity is not known.")
        .def_readonly("graph_nodes",
                      &Self::graph_nodes,
                      "The number of nodes of the autograd graphs that the tensors keep alive, if "
                      "that number is growing; otherwise None. The memory of the nodes is not "
                      "included in `nbytes` and `rate`.")
        .def_readonly("graph_nodes_rate",
                      &Self::graph_nodes_rate,
                      "Additional nodes per `unit`; None if `graph_nodes` is None.")
        .def_property_readonly(
            "remedy",
            [](const Self& self) { return text_or_none(self.remedy.value_or(std::string())); },
            "How to stop the growth; None if that is not known.")
        .def_readonly("process", &Self::process, "Index into `Report.processes`.")
        .def("__str__", [](const Self& self) { return render::growth_sentence(self); })
        .def("__repr__", [](const Self& self) {
            return "<GrowingOwner " + render::growth_sentence(self) + ">";
        });
}

std::vector<std::shared_ptr<model::LiveOwner>> live_owners(const std::vector<std::string>& devices,
                                                           std::uint64_t min_bytes,
                                                           std::optional<std::size_t> top,
                                                           bool show_keys,
                                                           watch::ReportedStorages* known,
                                                           const py::list& ignored,
                                                           const py::list& fixtures) {
    watch::CensusSettings settings;
    settings.devices = selected(devices);
    settings.min_bytes = min_bytes;
    settings.top = top.value_or(settings.top);
    settings.show_keys = show_keys;
    settings.known = known;
    for (const py::handle each : ignored) {
        settings.ignored.push_back(each.ptr());
    }
    for (const py::handle each : fixtures) {
        const auto fixture = py::cast<py::tuple>(each);
        settings.fixtures.push_back({.value = fixture[1].ptr(), .name = fixture[0].ptr()});
    }
    std::vector<std::shared_ptr<model::LiveOwner>> owners;
    for (model::LiveOwner& owner : watch::Dispatcher::instance().live_owners(settings)) {
        owners.push_back(std::make_shared<model::LiveOwner>(std::move(owner)));
    }
    return owners;
}

void bind_storages(py::module_& module) {
    using Self = watch::ReportedStorages;
    py::class_<Self>(module, "Storages")
        .def("forget_freed",
             &Self::forget_freed,
             Locked(),
             "Forgets storages that were freed, and returns their total size in bytes.")
        .def_property_readonly(
            "sizes",
            [](const Self& self) { return py::dict(py::cast(self.sizes())); },
            "Bytes by device.");
    module.def(
        "live_storages",
        [](const std::vector<std::string>& devices) {
            return std::make_unique<Self>(
                watch::Dispatcher::instance().live_storages(selected(devices)));
        },
        Locked(),
        "Lists the storages on `devices`, without keeping the storages alive. Omits storages "
        "without a reachable owner that the collector tracks.");
}

py::tuple why_alive(const py::list& box, std::size_t paths, bool ignore_caller) {
    if (box.size() != 1) {
        throw py::value_error("expects a list with one object");
    }
    retention::WhyAlive answer = watch::Dispatcher::instance().why_alive(
        box.ptr(),
        paths,
        ignore_caller ? retention::CallerVariables::ignore_target
                      : retention::CallerVariables::count);
    py::list list;
    for (model::RetentionPath& path : answer.paths) {
        list.append(std::make_shared<model::RetentionPath>(std::move(path)));
    }
    return py::make_tuple(list, answer.in_cycle);
}

}  // namespace

void bind_retention(py::module_& module) {
    bind_root(module);
    bind_path(module);
    bind_live_owner(module);
    bind_growing_owner(module);
    bind_storages(module);
    module.def(
        "live_owners",
        &live_owners,
        Locked(),
        py::arg("devices"),
        py::arg("min_bytes") = 0,
        py::arg("top") = py::none(),
        py::arg("show_keys") = true,
        py::arg("known") = py::none(),
        py::arg("ignored") = py::list(),
        py::arg("fixtures") = py::list(),
        "Groups the reachable owners that the collector tracks, and returns the groups. `known`: "
        "storages to omit. `ignored`: paths through these objects are ignored; owners without "
        "another path are omitted. `fixtures`: names and values of pytest's fixtures.");
    module.def("why_alive",
               &why_alive,
               Locked(),
               "Expects a list of one object; returns the paths to the object, and whether only "
               "reference cycles keep the object alive.");
    module.def(
        "allocation_stack",
        [](const py::object& object) { return retention::allocation_stack(object.ptr()); },
        Locked(),
        py::arg("object"),
        "The calls that allocated `object`, innermost first, if tracemalloc traced them.");
    module.def(
        "named_references",
        [](const py::object& object) {
            py::list list;
            for (const auto& [label, target] : retention::named_references(object.ptr())) {
                list.append(py::make_tuple(label, py::handle(target.get())));
            }
            return list;
        },
        Locked(),
        py::arg("object"),
        "(label, target) of each named reference of `object`. Runs no code of the program.");
}

}  // namespace cyclewatch::bindings
