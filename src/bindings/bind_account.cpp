// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings/bind.h"
#include "model/memory_account.h"
#include "model/report.h"
#include "report/address_list.h"

namespace py = pybind11;

namespace cyclewatch::bindings {
namespace {

template <class Part>
using SharedParts = std::vector<std::shared_ptr<Part>>;

model::MemoryAccount account_of(
    std::string device,
    const std::string& occasion,
    std::uint64_t in_use,
    std::optional<std::uint64_t> total,
    std::string source,
    std::optional<std::uint64_t> peak,
    std::string headline,
    const std::vector<std::tuple<std::string, std::string, std::int64_t>>& lines,
    std::vector<std::string> signatures,
    const SharedParts<model::LiveOwner>& holders,
    std::vector<std::string> notes) {
    model::MemoryAccount account;
    account.device = std::move(device);
    account.occasion = model::from_word<model::AccountOccasion>(occasion).value();
    account.in_use = in_use;
    account.total = total.value_or(0);
    account.source = std::move(source);
    account.peak = peak.value_or(0);
    account.headline = std::move(headline);
    for (const auto& [kind, use, bytes] : lines) {
        account.lines.push_back({.kind = kind, .use = use, .bytes = bytes});
    }
    account.signatures = std::move(signatures);
    account.notes = std::move(notes);
    for (const auto& holder : holders) {
        account.holders.push_back(*holder);
        account.holders.back().process = 0;  // this process
    }
    return account;
}

std::shared_ptr<model::Report> account_report(const model::Report& base,
                                              const std::shared_ptr<model::Report>& scan,
                                              const SharedParts<model::Finding>& findings,
                                              const SharedParts<model::LiveOwner>& owners,
                                              model::MemoryAccount account) {
    auto report = std::make_shared<model::Report>(base);
    report->findings.clear();
    for (const auto& finding : findings) {
        report->findings.push_back(*finding);
    }
    std::vector<model::LiveOwner>& listed = report->live_owners.emplace();
    for (const auto& owner : owners) {
        listed.push_back(*owner);
        listed.back().process = 0;  // this process
    }
    account.at = report->stats.elapsed;
    report->censuses = {{model::CensusTime{.at = account.at}}};
    report::append_addresses(listed, *report);
    if (scan.get() != &base) {
        report::append_dead_addresses(*scan, *report);
    }
    if (!report->memory) {
        report->memory = {{std::move(account)}};
    }
    return report;
}

}  // namespace

void bind_account(py::module_& module) {
    py::class_<model::MemoryAccount>(module, "AccountRecord", "An account in a report.")
        .def(py::init(&account_of),
             py::arg("device"),
             py::arg("occasion"),
             py::arg("in_use"),
             py::arg("total"),
             py::arg("source"),
             py::arg("peak"),
             py::arg("headline"),
             py::arg("lines"),
             py::arg("signatures"),
             py::arg("holders"),
             py::arg("notes"),
             "`lines`: kind, use and bytes.");
    module.def("account_report",
               &account_report,
               Locked(),
               py::arg("base"),
               py::arg("scan"),
               py::arg("findings"),
               py::arg("owners"),
               py::arg("account"),
               "Returns the report `base` with other findings and groups of live owners. Adds the "
               "account unless `base` has accounts. `scan`: the report of a scan that has just "
               "found some of the findings, possibly `base`.");
}

}  // namespace cyclewatch::bindings
