// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "report/merge.h"
#include "report/merger.h"

namespace cyclewatch::report {

using model::ProgramInfo;
using model::Report;

namespace {

double elapsed(const ProgramInfo& process) {
    return process.elapsed.value_or(0);
}

// The largest elapsed() of each process.
using Newest = std::map<Identity, double>;

void note(Newest& newest, const ProgramInfo& process) {
    double& seconds = newest[identity_of(process)];
    seconds = std::max(seconds, elapsed(process));
}

// The first process of which `report` has older data than another report: "rank 1". "" if there is
// none. Reports of earlier versions do not say how new they are.
std::string first_outdated(const Report& report, const Newest& newest) {
    constexpr double kRounding = 1e-5;  // files store rounded times
    for (const ProgramInfo& process : report.processes) {
        if (process.elapsed && *process.elapsed + kRounding < newest.at(identity_of(process))) {
            return process.rank < 0 ? "process " + std::to_string(process.pid)
                                    : "rank " + std::to_string(process.rank);
        }
    }
    return {};
}

// A report that contains all processes of another report replaces it, and must not be older.
// However, a report is not used if each of its processes has a smaller report that is as new: it
// was merged from such reports. Of two reports about the same processes, the one that covers more
// time is used.
base::Result<Sources> choose_sources(std::span<const Report* const> reports) {
    Newest newest;
    std::map<Identity, std::size_t> smallest;  // report about a process: its number of processes
    for (const Report* report : reports) {
        for (const ProgramInfo& process : report->processes) {
            auto& size = smallest.try_emplace(identity_of(process), SIZE_MAX).first->second;
            size = std::min(size, report->processes.size());
            note(newest, process);
        }
    }
    Newest in_smallest;
    for (const Report* report : reports) {
        for (const ProgramInfo& process : report->processes) {
            if (smallest.at(identity_of(process)) == report->processes.size()) {
                note(in_smallest, process);
            }
        }
    }
    std::vector<const Report*> order(reports.begin(), reports.end());
    std::erase_if(order, [&](const Report* report) {
        return std::ranges::all_of(report->processes, [&](const ProgramInfo& process) {
            const Identity identity = identity_of(process);
            return smallest.at(identity) < report->processes.size() &&
                   elapsed(process) <= in_smallest.at(identity);
        });
    });
    std::ranges::stable_sort(order, std::ranges::greater(), [](const Report* report) {
        double newest_process = 0;
        for (const ProgramInfo& process : report->processes) {
            newest_process = std::max(newest_process, elapsed(process));
        }
        return std::tuple(report->processes.size(), newest_process, report->stats.elapsed);
    });
    Sources sources;
    for (const Report* report : order) {
        const auto known = std::ranges::count_if(report->processes, [&](const auto& process) {
            return sources.contains(identity_of(process));
        });
        if (known > 0 && known < std::ssize(report->processes)) {
            return base::Error{
                "two merged reports have only some of their processes in common: merge the "
                "original reports instead"};
        }
        if (known == std::ssize(report->processes)) {
            continue;
        }
        if (const std::string outdated = first_outdated(*report, newest); !outdated.empty()) {
            return base::Error{"a merged report has older data of " + outdated +
                               " than another report, and its data cannot be separated: leave out "
                               "either of them"};
        }
        for (const ProgramInfo& process : report->processes) {
            sources.try_emplace(identity_of(process), report);
        }
    }
    return sources;
}

}  // namespace

base::Result<Report> merge_reports(std::span<const Report* const> reports) {
    if (reports.empty()) {
        return base::Error{"there are no reports to merge"};
    }
    const base::Result<Sources> sources = choose_sources(reports);
    if (!sources) {
        return base::Error{sources.error()};
    }
    Merger merger(sources.value());
    std::set<const Report*> added;
    for (const auto& [process, report] : sources.value()) {
        if (added.insert(report).second) {
            merger.add(*report);
        }
    }
    return merger.finish();
}

std::vector<std::size_t> merge_order(std::span<const Report* const> reports) {
    std::map<Identity, std::size_t> position;
    std::size_t processes = 0;
    for (std::size_t at = 0; at < reports.size(); ++at) {
        processes += reports[at]->processes.size();
        for (const ProgramInfo& process : reports[at]->processes) {
            position.emplace(identity_of(process), at);
        }
    }
    std::vector<std::size_t> order;
    if (position.size() == processes) {
        std::set<std::size_t> added;
        for (const auto& [process, at] : position) {
            if (added.insert(at).second) {
                order.push_back(at);
            }
        }
    }
    return order;
}

}  // namespace cyclewatch::report
