// SPDX-License-Identifier: Apache-2.0
// Recognizes dicts that locals() created.
//
// REQUIRES: GIL held, inside CollectionListener::on_unreachable(). RUNS PYTHON: never. Creates no
// Python objects. May throw std::bad_alloc.
#pragma once

#include <Python.h>

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "capture/object_summary.h"

namespace cyclewatch::capture {

// Caches borrowed references to code: use one instance per collection.
class LocalsSnapshots {
  public:
    // If `dict` contains the variables of a function, returns that function. `dict` must be an
    // exact dict. The dict must begin with all of the function's parameters. The function must be
    // either a method of the first value's class, or a function that calls locals() and is defined
    // in one of `modules` (namespaces). Most of the remaining keys must be variables of that
    // function or of other methods of the class (which may have updated the dict later). If several
    // functions match, the one whose variables match the most keys is returned. If the function
    // calls locals() on exactly one line, the result contains that line; otherwise, it contains the
    // line of the function's definition.
    [[nodiscard]] std::optional<ObjectSummary> function_of(PyObject* dict,
                                                           std::span<PyObject* const> modules);

  private:
    struct Function {
        PyCodeObject* code;
        std::string module;
        bool calls_locals;
    };
    class Match;

    const std::vector<Function>& methods_of(PyTypeObject* type);
    const std::vector<Function>& callers_in(PyObject* module);

    std::map<PyTypeObject*, std::vector<Function>> methods_;
    std::map<PyObject*, std::vector<Function>> callers_;
};

}  // namespace cyclewatch::capture
