// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings/bind.h"
#include "bindings/callbacks.h"
#include "bindings/values.h"
#include "report/address_list.h"
#include "watch/dispatcher.h"
#include "watch/owner_census.h"

namespace cyclewatch::bindings {
namespace {

using watch::Dispatcher;
using watch::Watch;

watch::Settings scan_settings(const std::vector<std::string>& devices,
                              const py::object& read_source) {
    watch::Settings settings;
    settings.devices = selected(devices);
    settings.listeners = listeners({.read_source = read_source});
    return settings;
}

std::vector<std::shared_ptr<model::LiveOwner>> shared(std::vector<model::LiveOwner> owners) {
    std::vector<std::shared_ptr<model::LiveOwner>> shared;
    shared.reserve(owners.size());
    for (model::LiveOwner& owner : owners) {
        shared.push_back(std::make_shared<model::LiveOwner>(std::move(owner)));
    }
    return shared;
}

// The groups that own autograd graphs that were not read, without those that only C code or other
// graphs hold. If possible, those that carry the graph to the next step.
std::vector<std::shared_ptr<model::LiveOwner>> unread_graphs_in(
    const std::vector<std::shared_ptr<model::LiveOwner>>& live) {
    std::vector<std::shared_ptr<model::LiveOwner>> found;
    std::ranges::copy_if(live, std::back_inserter(found), [](const auto& each) {
        return each->has_unread_graph && !each->held_by.empty() &&
               each->held_by.front().root.kind != model::RootKind::c_code;
    });
    const auto is_carrier = [](const auto& each) { return !each->held_by.front().root.is_unread; };
    const auto others = std::stable_partition(found.begin(), found.end(), is_carrier);
    if (others != found.begin()) {
        found.erase(others, found.end());
    }
    return found;
}

// For cyclewatch.dump_snapshot() and Census.save().
void bind_lists(py::module_& module) {
    module.def(
        "census_report",
        [](const std::vector<std::shared_ptr<model::LiveOwner>>& owners, double age) {
            const auto watch = std::make_shared<Watch>(watch::Settings{});
            auto report = std::make_shared<model::Report>(watch->report());
            std::vector<model::LiveOwner>& listed = report->live_owners.emplace();
            for (const auto& owner : owners) {
                listed.push_back(*owner);
                listed.back().process = 0;  // this process
            }
            const double at = report->stats.elapsed - age;
            report->censuses = {{model::CensusTime{.at = at}}};
            report::append_addresses(listed, *report);
            if (report->addresses) {
                for (model::StorageAddresses& group : *report->addresses) {
                    group.at = at;
                }
            }
            return report;
        },
        Locked(),
        py::arg("owners"),
        py::arg("age") = 0,
        "Returns a report without findings that contains these groups of live owners, which were "
        "listed `age` seconds ago.");
    module.def(
        "scan_storages",
        [](const std::vector<std::string>& devices, const py::object& read_source) {
            watch::ScanResult found =
                Dispatcher::instance().scan(scan_settings(devices, read_source), {2, true});
            py::list storages;
            for (const watch::ReportedStorage& each : found.storages) {
                storages.append(py::make_tuple(each.device,
                                               each.storage,
                                               each.bytes,
                                               model::word_of(each.state),
                                               each.signatures));
            }
            return py::make_tuple(std::make_shared<model::Report>(std::move(found.report)),
                                  storages);
        },
        Locked(),
        py::arg("devices"),
        py::arg("read_source"),
        "Returns the report of a scan of all objects, and for each storage of its findings: "
        "device, address, bytes, Finding.collected, signatures.");
}

void bind_never_freed(py::module_& module) {
    module.def(
        "never_freed",
        [](const std::vector<std::string>& devices,
           const py::object& read_source,
           const py::dict& layout,
           int settle,
           watch::ReportedStorages& known) {
            return std::make_shared<model::Report>(
                Dispatcher::instance().never_freed(scan_settings(devices, read_source),
                                                   layout_from(layout),
                                                   failures_in(layout),
                                                   settle,
                                                   known));
        },
        Locked(),
        py::arg("devices"),
        py::arg("read_source"),
        py::arg("layout"),
        py::arg("settle"),
        py::arg("known"),
        "`layout`: the result of cyclewatch.proofs.torch_layout.torch_layout(). `known`: storages "
        "to omit, to which the search adds those that it reports.");
    module.def(
        "never_freed_or_live",
        [](const std::vector<std::string>& devices,
           const py::object& read_source,
           const py::dict& layout,
           int settle,
           std::uint64_t min_bytes) {
            watch::CensusSettings census;
            census.devices = selected(devices);
            census.min_bytes = min_bytes;
            auto [report, live] =
                Dispatcher::instance().never_freed_or_live(scan_settings(devices, read_source),
                                                           layout_from(layout),
                                                           failures_in(layout),
                                                           settle,
                                                           census);
            return py::make_tuple(std::make_shared<model::Report>(std::move(report)),
                                  shared(std::move(live.groups)));
        },
        Locked(),
        py::arg("devices"),
        py::arg("read_source"),
        py::arg("layout"),
        py::arg("settle"),
        py::arg("min_bytes"),
        "Returns the report of never_freed(), and if it has no findings, the groups of reachable "
        "owners with at least `min_bytes` bytes.");
}

}  // namespace

void bind_scan(py::module_& module) {
    bind_lists(module);
    bind_never_freed(module);
    module.def(
        "scan",
        [](int generation,
           bool frozen,
           const std::vector<std::string>& devices,
           const py::object& read_source,
           std::size_t live_owners) {
            auto report = std::make_shared<model::Report>(
                Dispatcher::instance()
                    .scan(scan_settings(devices, read_source), {generation, frozen})
                    .report);
            if (live_owners > 0) {
                watch::CensusSettings census;
                census.top = live_owners;
                census.show_keys = false;
                watch::LiveGroups live = Dispatcher::instance().live_owners(census);
                report->live_owners = std::move(live.groups);
                if (!live.unread_graphs.empty()) {
                    report->notes.push_back(std::move(live.unread_graphs));
                }
                report->censuses = {{model::CensusTime{.at = report->stats.elapsed}}};
                report::append_addresses(*report->live_owners, *report);
            }
            return report;
        },
        Locked(),
        py::arg("generation"),
        py::arg("frozen"),
        py::arg("devices"),
        py::arg("read_source"),
        py::arg("live_owners") = 0,
        "`live_owners`: the maximum number of groups of reachable owners in the report.");
    module.def(
        "memory_use",
        [](const std::vector<std::string>& devices,
           const py::object& read_source,
           const std::optional<py::dict>& layout,
           bool examines_pages) {
            watch::CensusSettings census;
            census.devices = selected(devices);
            census.show_keys = false;
            census.examines_pages = examines_pages;
            const device::TorchLayout found = layout ? layout_from(*layout) : device::TorchLayout();
            watch::MemoryUse use = Dispatcher::instance().memory_use(
                scan_settings(devices, read_source), std::move(census), layout ? &found : nullptr);
            const auto live = shared(std::move(use.live.groups));
            return py::make_tuple(std::make_shared<model::Report>(std::move(use.dead)),
                                  std::make_shared<model::Report>(std::move(use.never_freed)),
                                  live,
                                  use.live.unread_graphs,
                                  unread_graphs_in(live));
        },
        Locked(),
        py::arg("devices"),
        py::arg("read_source"),
        py::arg("layout"),
        py::arg("examines_pages"),
        "Returns the report of a scan of all objects, without cycles through NumPy arrays, the "
        "report of never_freed(), without findings if `layout` is None, the groups of "
        "reachable owners, a sentence about autograd graphs that were not read, or '', "
        "and the groups that own such graphs. `examines_pages`: set `LiveOwner.absent_bytes`.");
    module.def(
        "dead_bytes",
        [](int generation, bool frozen, bool with_unexplained) {
            return Dispatcher::instance().dead_bytes(
                watch::Settings{}, {generation, frozen}, with_unexplained);
        },
        Locked());
}

}  // namespace cyclewatch::bindings
