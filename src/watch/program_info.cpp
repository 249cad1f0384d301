// SPDX-License-Identifier: Apache-2.0
#include "watch/program_info.h"

#include <Python.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <string>
#include <string_view>
#include <utility>

#include "base/index.h"
#include "base/stable_hash.h"
#include "collector/gc_hook.h"
#include "watch/job_rank.h"

namespace cyclewatch::watch {
namespace {

// Removes the directory and ".py". The file __main__.py of a package, which `python -m package`
// runs, is named after the package.
std::string name_of_file(std::string path) {
    if (constexpr std::string_view kMain = "/__main__.py";
        path.ends_with(kMain) && path.size() > kMain.size()) {
        path.resize(path.size() - kMain.size());
    }
    path.erase(0, path.find_last_of('/') + 1);
    if (path.ends_with(".py")) {
        path.resize(path.size() - 3);
    }
    return path;
}

// Returns the name of the file in sys.argv[0]. In an interactive session or with -c, returns
// "python".
std::string script_name() {
    PyObject* const argv = PySys_GetObject("argv");
    if (argv == nullptr || !PyList_Check(argv) || PyList_GET_SIZE(argv) == 0 ||
        !PyUnicode_Check(PyList_GET_ITEM(argv, 0))) {
        return "python";
    }
    const char* text = PyUnicode_AsUTF8(PyList_GET_ITEM(argv, 0));
    if (text == nullptr) {
        PyErr_Clear();
        return "python";
    }
    std::string name = name_of_file(text);
    for (char& c : name) {
        const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                           (c >= 'A' && c <= 'Z') || c == '_' || c == '-' || c == '.';
        c = plain ? c : '_';  // for use in a file name
    }
    return name.empty() || name == "-c" ? "python" : name.substr(0, 64);
}

// With milliseconds, so that reports can be aligned with logs and traces.
std::string utc_at(Clock::time_point time) {
    using std::chrono::system_clock;
    const auto elapsed = std::chrono::duration_cast<system_clock::duration>(Clock::now() - time);
    const auto now = std::chrono::floor<std::chrono::milliseconds>(system_clock::now() - elapsed);
    const std::time_t seconds = system_clock::to_time_t(now);
    const auto milliseconds = now.time_since_epoch().count() % 1000;
    std::tm parts{};
    gmtime_r(&seconds, &parts);
    std::array<char, 32> text{};
    std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S.", &parts);
    const std::string digits = std::to_string(1000 + milliseconds);
    return text.data() + digits.substr(1) + "Z";
}

}  // namespace

std::string machine() {
    std::array<char, 256> name{};
    if (::gethostname(name.data(), name.size() - 1) != 0) {
        return {};
    }
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::uint64_t value = base::StableHash().add(name.data()).value();
    std::string text(16, '0');
    for (char& digit : base::Reversed{text}) {
        digit = kDigits[value % 16];
        value /= 16;
    }
    return text;
}

model::ProgramInfo describe_program(Clock::time_point started) {
    model::ProgramInfo program;
    program.script = script_name();
    program.pid = ::getpid();
    const JobRank place = job_rank();
    program.rank = place.rank;
    program.world_size = place.joined_size();
    if (std::string name = machine(); !name.empty()) {
        program.host = std::move(name);
    }
    const std::string_view version = Py_GetVersion();
    program.python_version = version.substr(0, version.find(' '));
    program.cyclewatch_version = CYCLEWATCH_VERSION;
    program.started_at = utc_at(started);
    program.strategy = collector::strategy_name(collector::strategy());
    return program;
}

std::string report_stem(const model::ProgramInfo& program) {
    const std::string rank = program.rank < 0 ? "" : "-rank" + std::to_string(program.rank);
    return "cyclewatch-" + program.script + rank + "-" + std::to_string(program.pid);
}

std::string loaded_version(const std::string& package) {
    std::string name = package;
    std::ranges::replace(name, '-', '_');
    PyObject* const module = PyDict_GetItemString(PyImport_GetModuleDict(), name.c_str());
    if (module == nullptr || !PyModule_Check(module)) {
        return {};
    }
    PyObject* const version = PyDict_GetItemString(PyModule_GetDict(module), "__version__");
    // Only ASCII strings are read, because CPython would allocate and cache the UTF-8 encoding of
    // other strings.
    if (version == nullptr || !PyUnicode_Check(version) || !PyUnicode_IS_ASCII(version)) {
        return {};
    }
    return {static_cast<const char*>(PyUnicode_DATA(version)),
            static_cast<std::size_t>(PyUnicode_GET_LENGTH(version))};
}

}  // namespace cyclewatch::watch
