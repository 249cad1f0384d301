// SPDX-License-Identifier: Apache-2.0
#include "analysis/origin.h"

#include <array>
#include <string_view>

#include "analysis/names.h"

namespace cyclewatch::analysis {
namespace {

// Used only if the file of the code is unknown.
constexpr std::array<std::string_view, 26> kLibraries{
    "accelerate", "cudf",        "cupy",         "cupyx",      "deepspeed",  "flax",  "ignite",
    "jax",        "jaxlib",      "keras",        "lightning",  "numba",      "numpy", "pandas",
    "rmm",        "scipy",       "sklearn",      "tensordict", "tensorflow", "torch", "torchaudio",
    "torchrec",   "torchvision", "transformers", "triton",     "xarray"};
constexpr std::array<std::string_view, 26> kStandardLibrary{
    "abc",         "asyncio",     "collections", "concurrent",
    "contextlib",  "contextvars", "copy",        "ctypes",
    "dataclasses", "enum",        "functools",   "importlib",
    "inspect",     "itertools",   "logging",     "multiprocessing",
    "pathlib",     "queue",       "threading",   "traceback",
    "types",       "typing",      "unittest",    "warnings",
    "weakref",     "xml"};

}  // namespace

Origin origin_of(const CollapsedGraph& graph, std::uint32_t node) {
    const model::Node& described = graph.node(node);
    const std::string_view path = graph.raw->text(described.location.path);
    if (!path.empty()) {
        return base::origin_of_path(path);
    }
    const std::string_view module = graph.raw->text(described.module);
    // The C half of a module has the same name with an underscore: _asyncio.
    const std::string_view full = module.substr(module.starts_with('_') ? 1 : 0);
    const std::string_view top = full.substr(0, full.find('.'));
    if (contains(kLibraries, top)) {
        return Origin::library;
    }
    return contains(kStandardLibrary, top) ? Origin::standard_library : Origin::user;
}

bool may_be_users(const CollapsedGraph& graph, std::uint32_t node) {
    return is_container(graph, node) || origin_of(graph, node) == Origin::user;
}

}  // namespace cyclewatch::analysis
