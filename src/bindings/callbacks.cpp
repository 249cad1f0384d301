// SPDX-License-Identifier: Apache-2.0
#include "bindings/callbacks.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>

#include "base/text.h"
#include "report/source_table.h"
#include "watch/allocations.h"

namespace cyclewatch::bindings {
namespace {

// Converts the result of cyclewatch.watching.memory_recording.allocation_stacks().
watch::AllocationStacks stacks_from(const py::object& answer) {
    watch::AllocationStacks found;
    if (!answer || answer.is_none()) {
        return found;
    }
    found.is_recorded = true;
    if (py::isinstance<py::str>(answer)) {
        found.failure = answer.cast<std::string>();
        return found;
    }
    using Frame = std::tuple<std::string, std::uint32_t, std::string>;
    for (const auto& stack : answer.cast<std::vector<std::vector<Frame>>>()) {
        std::vector<watch::StackFrame>& frames = found.stacks.emplace_back();
        for (const auto& [path, line, function] : stack) {
            frames.push_back({.path = path, .line = line, .function = function});
        }
    }
    return found;
}

}  // namespace

py::str path_text(const std::string& path) {
    PyObject* const text =
        PyUnicode_DecodeFSDefaultAndSize(path.data(), static_cast<Py_ssize_t>(path.size()));
    if (text == nullptr) {
        throw py::error_already_set();
    }
    return py::reinterpret_steal<py::str>(text);
}

py::list path_texts(const std::vector<std::string>& paths) {
    py::list texts;
    for (const std::string& path : paths) {
        texts.append(path_text(path));
    }
    return texts;
}

py::object path_or_none(const std::string& path) {
    return path.empty() ? py::object(py::none()) : py::object(path_text(path));
}

watch::Listeners listeners(PythonListeners functions) {
    watch::Listeners result;
    if (!functions.find_allocations.is_none()) {
        result.find_allocations = [callback = Callback(std::move(functions.find_allocations))](
                                      const std::vector<watch::CollectedStorage>& storages) {
            py::list questions;
            for (const watch::CollectedStorage& each : storages) {
                questions.append(py::make_tuple(each.device,
                                                each.address,
                                                each.bytes,
                                                each.released,
                                                each.unreachable,
                                                each.settled));
            }
            return stacks_from(callback.call(questions));
        };
    }
    if (!functions.find_switch.is_none()) {
        result.find_switch = [callback = Callback(std::move(functions.find_switch))](bool frozen) {
            return callback.call_untraced<std::string>(frozen);
        };
    }
    if (!functions.read_source.is_none()) {
        result.read_source = [callback = Callback(std::move(functions.read_source))](
                                 const std::vector<std::string>& locations) {
            using Lines = report::SourceLines::mapped_type;
            const auto found = callback.call_untraced<std::vector<Lines>>(path_texts(locations));
            report::SourceLines lines;
            for (std::size_t i = 0; i < std::min(found.size(), locations.size()); ++i) {
                if (!found[i].second.empty()) {
                    lines.emplace(locations[i], found[i]);
                }
            }
            return lines;
        };
    }
    if (!functions.on_finding.is_none()) {
        result.on_finding =
            [callback = Callback(std::move(functions.on_finding))](
                const model::Finding& finding, const std::string& path, bool again) {
                callback.call_untraced(
                    std::make_shared<model::Finding>(finding), path_or_none(path), again);
            };
    }
    if (!functions.on_report.is_none()) {
        result.on_report = [callback = Callback(std::move(functions.on_report))](
                               const std::shared_ptr<const model::Report>& report) {
            callback.call(std::make_shared<model::Report>(*report));
        };
    }
    if (!functions.on_log.is_none()) {
        result.on_log = [callback = Callback(std::move(functions.on_log))](
                            int level, const std::string& message) {
            callback.call_untraced(level, base::clean_text(message));
        };
    }
    return result;
}

}  // namespace cyclewatch::bindings
