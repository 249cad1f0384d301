// SPDX-License-Identifier: Apache-2.0
// Recognises dicts that locals() created.
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
    // Returns the function whose variables the exact dict `dict` contains, if any. The dict must
    // start with all parameters of the function. The function must be a method of the class of the
    // dict's first value, or a function of `modules` (namespaces) that calls locals(). The other
    // keys are variables of that function, or of other methods of the class if the dict was
    // updated. If several functions match, the one with the most keys is returned. The line of the
    // result is that of the only call of locals() in the function. If there is not exactly one such
    // call, the line is that of the function's definition.
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
