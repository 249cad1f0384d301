// SPDX-License-Identifier: Apache-2.0
// What the user asked of one watch, validated.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "device/device_selection.h"
#include "model/finding.h"
#include "model/report.h"

namespace cyclewatch::watch {

// How a watch speaks to its user. Called with the GIL held, on the main thread, outside
// collections; may run any Python; must not throw.
struct Listeners {
    // A signature seen for the first time; `report_path` is where the report is written, "" if
    // it is not.
    std::function<void(const model::Finding&, const std::string& report_path)> on_finding;
    // After a collection that found an owner unreachable: what that collection found.
    std::function<void(std::shared_ptr<const model::Report>)> on_report;
    // Something the user should know; `level` as in Python's logging (30 warning, 40 error).
    std::function<void(int level, const std::string& message)> on_log;
};

struct Settings {
    device::DeviceSelection devices;
    std::vector<std::string> formats;  // of the report file; empty: none is written
    std::string report_dir;            // "" for the current directory at the time of writing
    bool may_make_dir = false;         // it is not there yet: it is made when it is needed
    std::string report_name;           // file name without suffix; "": cyclewatch-<script>-<pid>
    bool replace_report = false;       // what stands under that name already may be replaced
    std::uint64_t min_bytes = 0;       // findings below it are counted, not kept
    double budget = 0.01;              // share of wall time
    bool capture_values = false;
    Listeners listeners;
};

}  // namespace cyclewatch::watch
