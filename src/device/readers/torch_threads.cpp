// SPDX-License-Identifier: Apache-2.0
#include "device/readers/torch_threads.h"

#include <Python.h>

#include <chrono>
#include <string_view>
#include <thread>

#include "bytecode/attribute_stores.h"
#include "compat/frame_access.h"
#include "python/guards.h"

namespace cyclewatch::device {
namespace {

bool ends_with(PyObject* text, std::string_view end) {
    Py_ssize_t size = 0;
    const char* const bytes = PyUnicode_AsUTF8AndSize(text, &size);
    return bytes != nullptr &&
           std::string_view(bytes, static_cast<std::size_t>(size)).ends_with(end);
}

bool calls_engine(const cyclewatch_thread_reference& frame) {
    return ends_with(frame.code->co_name, "_engine_run_backward") &&
           ends_with(frame.code->co_filename, "graph.py");
}

bool assigns_gradient(const cyclewatch_thread_reference& frame) {
    PyObject* const name =
        frame.depth == 0 ? bytecode::stored_attribute(frame.code, frame.instruction) : nullptr;
    return name != nullptr && PyUnicode_CompareWithASCIIString(name, "grad") == 0;
}

using IsSearched = bool (*)(const cyclewatch_thread_reference& frame);

// Whether a frame of another thread is one that `is_searched`.
bool has_frame_elsewhere(IsSearched is_searched) {
    struct Search {
        const PyThreadState* own;
        IsSearched is_searched;
        bool found = false;

        static void visit(const cyclewatch_thread_reference* reference, void* context) {
            auto& search = *static_cast<Search*>(context);
            search.found =
                search.found || (reference->slot == CYCLEWATCH_THREAD_NAMESPACE &&
                                 reference->thread != search.own && reference->code != nullptr &&
                                 search.is_searched(*reference));
        }
    };
    Search search{PyThreadState_Get(), is_searched};
    cyclewatch_visit_threads(&Search::visit, &search);
    PyErr_Clear();
    return search.found;
}

}  // namespace

bool runs_backward_elsewhere() {
    return has_frame_elsewhere(&calls_engine);
}

void wait_for_assigned_gradients() {
    constexpr int kMostWaits = 2'000;
    for (int i = 0; i < kMostWaits && has_frame_elsewhere(&assigns_gradient); ++i) {
        const python::GilRelease release;
        std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
}

}  // namespace cyclewatch::device
