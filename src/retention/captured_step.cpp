// SPDX-License-Identifier: Apache-2.0
#include "retention/captured_step.h"

#include <algorithm>

#include "capture/labelers/text.h"
#include "retention/known_ends.h"
#include "retention/parts.h"

namespace cyclewatch::retention {
namespace {

using model::EdgeKind;
using model::RootKind;

bool is_function(PyObject* object) {
    return object != nullptr && (is_function_or_partial(object) || PyCFunction_Check(object));
}

bool is_container(PyObject* object) {
    return object != nullptr &&
           (PyDict_Check(object) || PyList_Check(object) || PyAnySet_Check(object) ||
            capture::has_tp_name(Py_TYPE(object), "collections.deque"));
}

// True for a function, and for a tuple with the arguments of one.
bool passes_on(PyObject* object) {
    return is_function(object) || (object != nullptr && PyTuple_CheckExact(object));
}

bool is_registration(const Step& step) {
    const EdgeKind kind = step.label.kind;
    return !step.in_tuple && is_function(step.to) &&
           (kind == EdgeKind::index || kind == EdgeKind::element ||
            kind == EdgeKind::opaque_key_value || kind == EdgeKind::captured_key_value);
}

// The first step after `at` that leads to an object which is not part of the callback.
std::optional<std::size_t> captured_after(const std::vector<Step>& steps, std::size_t at) {
    const auto begin = steps.begin() + static_cast<std::ptrdiff_t>(at);
    const auto found =
        std::find_if(begin, steps.end(), [](const Step& step) { return !passes_on(step.to); });
    if (found == steps.end() || is_task(found->to)) {
        return std::nullopt;
    }
    return static_cast<std::size_t>(found - steps.begin());
}

}  // namespace

bool is_root_of_callback(const Root* root) {
    return root != nullptr && root->kind == RootKind::interpreter && root->mode == nullptr &&
           !root->is_fixture;
}

bool is_root_of_worker(const Root* root) {
    if (root == nullptr || root->kind != RootKind::local_variable || root->thread == 0 ||
        root->is_namespace) {
        return false;
    }
    PyObject* const threading = capture::find_in_dict(PyImport_GetModuleDict(), "threading");
    return threading != nullptr && PyModule_Check(threading) &&
           thread_object(root->thread) !=
               capture::find_in_dict(PyModule_GetDict(threading), "_main_thread");
}

std::optional<std::size_t> captured_step(const std::vector<Step>& steps, const Root* root) {
    if (is_root_of_callback(root) || is_root_of_worker(root)) {
        const bool has_list = root->registry != nullptr && !steps.empty() &&
                              is_container(steps.front().to);  // of the interpreter
        return captured_after(steps, has_list ? 1 : 0);
    }
    const auto registration = std::ranges::find_if(steps, is_registration);
    const std::optional<std::size_t> captured =
        registration == steps.end()
            ? std::nullopt
            : captured_after(steps, static_cast<std::size_t>(registration - steps.begin()));
    return captured && !is_container(steps[*captured].to) ? captured : std::nullopt;
}

}  // namespace cyclewatch::retention
