// SPDX-License-Identifier: Apache-2.0
// Finds the code of the modules, scripts and notebook cells that are running. After a module has
// run, its own code no longer exists; only its functions do.
//
// REQUIRES: GIL held. RUNS PYTHON: never. ALLOCATES: no.
#pragma once

#include <Python.h>

#include <array>
#include <cstddef>
#include <span>

namespace cyclewatch::capture {

struct RunningCode {
    static constexpr std::size_t kMost = 8;

    std::array<PyCodeObject*, kMost> code{};  // borrowed
    std::size_t count = 0;

    [[nodiscard]] auto begin() const noexcept { return code.begin(); }
    [[nodiscard]] auto end() const noexcept {
        return code.begin() + static_cast<std::ptrdiff_t>(count);
    }
};

// The code at module level that is running in any thread and whose namespace is one of `modules`.
[[nodiscard]] RunningCode running_module_code(std::span<PyObject* const> modules) noexcept;

}  // namespace cyclewatch::capture
