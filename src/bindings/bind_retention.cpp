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
#include "bindings/bind_fields.h"
#include "bindings/values.h"
#include "model/retention.h"
#include "render/summary.h"
#include "retention/named_references.h"
#include "watch/dispatcher.h"

namespace cyclewatch::bindings {
namespace {

void bind_root(py::module_& module) {
    using Self = model::PathRoot;
    add_struct<Self>(module,
                     "Immutable.\n\n"
                     "Examples:\n"
                     "    >>> cache = [Trainer()]\n"
                     "    >>> root = cyclewatch.why_alive(cache[0])[0].root\n"
                     "    >>> root.kind, root.text\n"
                     "    ('module global', 'module global __main__.cache')")
        .def("__str__", [](const Self& self) { return base::clean_text(self.text); })
        .def("__repr__", [](const Self& self) { return "<PathRoot " + quoted(self.text) + ">"; });
}

void bind_path(py::module_& module) {
    using Self = model::RetentionPath;
    add_struct<Self>(module,
                     "Immutable. ``str(path)`` formats the references as Python code, on one "
                     "line.\n\n"
                     "Examples:\n"
                     "    >>> cache = {'last': [Trainer()]}\n"
                     "    >>> path = cyclewatch.why_alive(cache['last'][0])[0]\n"
                     "    >>> print(path)\n"
                     "    module global __main__.cache -> cache['last'][0]\n"
                     "    >>> [reference.label for reference in path.references]\n"
                     "    ['.cache', \"['last']\", '[0]']\n"
                     "    >>> path.cut.label, path.cut_frees\n"
                     "    ('[0]', True)")
        .def("__str__", [](const Self& self) { return base::clean_text(self.text); })
        .def("__repr__", [](const Self& self) { return "<Path " + quoted(self.text) + ">"; });
}

// Adds the class of a group of reachable owners. The fields of the group's owner become properties
// of the group.
template <typename Self>
py::class_<Self, std::shared_ptr<Self>> add_owner_group(py::module_& module,
                                                        std::string_view more) {
    auto added = add_struct<Self>(module, more);
    return added
        .def_property_readonly(
            "type", [](const Self& self) { return self.owner.type; }, "'torch.Tensor'")
        .def_property_readonly(
            "device", [](const Self& self) { return self.owner.device; }, "'cuda:0', 'cpu'")
        .def_property_readonly(
            "shape", [](const Self& self) { return shape_or_none(self.owner.shape); }, kShapeDoc)
        .def_property_readonly(
            "dtype",
            [](const Self& self) { return text_or_none(self.owner.dtype); },
            doc_of<&model::OwnerSummary::dtype>().c_str())
        .def_property_readonly(
            "count", [](const Self& self) { return self.owner.count; }, "Number of storages.");
}

void bind_live_owner(py::module_& module) {
    using Self = model::LiveOwner;
    add_owner_group<Self>(module,
                          "Immutable.\n\n"
                          "Examples:\n"
                          "    >>> trainers = [Trainer(), Trainer()]\n"
                          "    >>> [owner] = cyclewatch.live_owners(min_bytes=4096)\n"
                          "    >>> owner.type, owner.count, owner.nbytes, owner.device\n"
                          "    ('__main__.Buffer', 2, 8192, 'cpu')\n"
                          "    >>> print(owner.held_by[0])\n"
                          "    module global __main__.trainers -> trainers[0].batch")
        .def_property_readonly(
            "allocated_at",
            [](const Self& self) { return text_or_none(self.owner.allocated_at); },
            "'path:line' of the code that created one of the tensors; None if tracemalloc is not "
            "tracing.")
        .def_property_readonly(
            "path",
            [](const Self& self) { return base::clean_text(self.owner.path); },
            "The first path of `held_by`, with [x] for indexes and for the keys of large dicts: "
            "'module global train.cache -> cache[x]'; '' if there is none.")
        .def_property_readonly(
            "absent_bytes",
            [](const Self& self) { return self.absent_bytes; },
            "The part of `nbytes`, on the CPU, that is not resident: never written, read from a "
            "file on demand, or swapped out. Only memory() determines it; otherwise 0.")
        .def("__str__", [](const Self& self) { return render::live_owner_sentence(self); })
        .def("__repr__", [](const Self& self) {
            return "<LiveOwner " + render::live_owner_sentence(self) + ">";
        });
}

void bind_growing_owner(py::module_& module) {
    using Self = model::GrowingOwner;
    add_owner_group<Self>(
        module,
        "Immutable.\n\n"
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
        "    'module global __main__.trainers -> trainers[0].batch'")
        .def("__str__", [](const Self& self) { return render::growth_sentence(self); })
        .def("__repr__", [](const Self& self) {
            return "<GrowingOwner " + render::growth_sentence(self) + ">";
        });
}

py::tuple live_owners(const std::vector<std::string>& devices,
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
    watch::LiveGroups live = watch::Dispatcher::instance().live_owners(settings);
    for (model::LiveOwner& owner : live.groups) {
        owners.push_back(std::make_shared<model::LiveOwner>(std::move(owner)));
    }
    return py::make_tuple(std::move(owners), std::move(live.unread_graphs));
}

void bind_storages(py::module_& module) {
    using Self = watch::ReportedStorages;
    py::class_<Self>(module, "Storages")
        .def(py::init<>(), "Without storages.")
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

py::tuple why_alive(const py::list& box,
                    std::size_t paths,
                    bool ignore_caller,
                    const std::optional<py::dict>& layout) {
    if (box.size() != 1) {
        throw py::value_error("expects a list with one object");
    }
    const device::TorchLayout found = layout ? layout_from(*layout) : device::TorchLayout();
    retention::WhyAlive answer = watch::Dispatcher::instance().why_alive(
        box.ptr(),
        paths,
        ignore_caller ? retention::CallerVariables::ignore_target
                      : retention::CallerVariables::count,
        layout ? &found : nullptr);
    py::list list;
    for (model::RetentionPath& path : answer.paths) {
        list.append(std::make_shared<model::RetentionPath>(std::move(path)));
    }
    return py::make_tuple(list, answer.in_cycle, answer.is_never_freed, answer.is_incomplete);
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
        "Groups the reachable owners, and returns the groups and a sentence about the autograd "
        "graphs that were not read, or ''. `known`: "
        "storages to omit. `ignored`: paths through these objects are ignored; owners without "
        "another path are omitted. `fixtures`: names and values of pytest's fixtures.");
    module.def(
        "owned_storages",
        [](const std::vector<std::string>& devices) {
            watch::CensusSettings settings;
            settings.devices = selected(devices);
            settings.show_keys = false;
            py::list storages;
            for (const watch::OwnedStorage& each :
                 watch::Dispatcher::instance().owned_storages(settings)) {
                storages.append(py::make_tuple(each.device,
                                               each.storage,
                                               each.bytes,
                                               each.type,
                                               model::word_of(each.category),
                                               base::clean_text(each.path)));
            }
            return storages;
        },
        Locked(),
        py::arg("devices"),
        "For each storage that live_owners() counts: device, address, bytes, type, category, "
        "path.");
    module.def(
        "why_alive",
        &why_alive,
        Locked(),
        py::arg("box"),
        py::arg("paths"),
        py::arg("ignore_caller"),
        py::arg("layout") = py::none(),
        "Expects a list of one object; returns the paths to the object, whether only "
        "reference cycles keep the object alive, whether no collection frees them, and whether "
        "the references of torch's C++ objects (`layout`) may change the answer.");
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
