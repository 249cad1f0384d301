// SPDX-License-Identifier: Apache-2.0
#include "retention/known_ends.h"

#include <algorithm>
#include <array>

#include "bytecode/attribute_stores.h"
#include "capture/class_code.h"
#include "capture/labelers/text.h"

namespace cyclewatch::retention {
namespace {

struct KnownEnd {
    std::string_view module;
    std::string_view type;
    std::string_view attribute;  // "": any attribute whose value is a container
    std::string_view remedy;
};

constexpr std::string_view kFreeMemory =
    "call `{}.free_memory()`, because it keeps everything that its `prepare()` returned";
constexpr std::string_view kCallFinalizer =
    "call the `multiprocessing.util.Finalize` object once the object is no longer needed, call its "
    "`cancel()` if it need not run, or pass it arguments that do not refer to the object";
constexpr std::string_view kRunLoop =
    "run the event loop `{}` until its callbacks have been called, or call `{}.close()`";

constexpr std::array kEnds{
    KnownEnd{"matplotlib._pylab_helpers",
             "Gcf",
             "figs",
             "call `matplotlib.pyplot.close(figure)` once the figure has been saved or shown, "
             "because pyplot keeps each figure until then"},
    KnownEnd{
        "weakref",
        "finalize",
        "_registry",
        "pass `weakref.finalize` a function and arguments that do not refer to the object, because "
        "otherwise it runs only at exit, or call `detach()` of it if it need not run"},
    KnownEnd{"multiprocessing.util", "Finalize", "_callback", kCallFinalizer},
    KnownEnd{"multiprocessing.util", "Finalize", "_args", kCallFinalizer},
    KnownEnd{"multiprocessing.util", "Finalize", "_kwargs", kCallFinalizer},
    KnownEnd{
        "itertools",
        "cycle",
        "saved",
        "start a new iteration over the data instead of `itertools.cycle()`, which keeps every "
        "item that it has returned, for example with `while True: yield from data`"},
    KnownEnd{"accelerate.accelerator", "Accelerator", "_models", kFreeMemory},
    KnownEnd{"accelerate.accelerator", "Accelerator", "_optimizers", kFreeMemory},
    KnownEnd{"accelerate.accelerator", "Accelerator", "_schedulers", kFreeMemory},
    KnownEnd{"accelerate.accelerator", "Accelerator", "_dataloaders", kFreeMemory},
    KnownEnd{"torchmetrics.metric",
             "Metric",
             "",
             "call `{}.reset()` once its result has been computed, because a metric keeps the "
             "values of all updates until then"},
    KnownEnd{"asyncio.base_events", "BaseEventLoop", "_ready", kRunLoop},
    KnownEnd{"asyncio.base_events", "BaseEventLoop", "_scheduled", kRunLoop},
};

// True if the code assigns the attribute, or removes items and reads the attribute.
bool drops(PyCodeObject* code, std::string_view attribute) {
    const Py_ssize_t number = capture::index_of_name(code, attribute);
    constexpr std::array<std::string_view, 4> kRemovals{"clear", "pop", "popitem", "popleft"};
    return number >= 0 && (bytecode::stores_attribute(code, number) ||
                           std::ranges::any_of(kRemovals, [code](auto each) {
                               return capture::index_of_name(code, each) >= 0;
                           }));
}

}  // namespace

std::string_view known_end(PyObject* owner, const Label& label, bool is_container) {
    using model::EdgeKind;
    if (owner == nullptr || (label.kind != EdgeKind::attribute && label.kind != EdgeKind::slot &&
                             label.kind != EdgeKind::member)) {
        return {};
    }
    PyTypeObject* const type =
        PyType_Check(owner) ? reinterpret_cast<PyTypeObject*>(owner) : Py_TYPE(owner);
    std::string_view remedy;
    capture::visit_bases(type, [&](PyTypeObject* base) {
        const capture::TypeName name = capture::name_of_type(base);
        const auto* const found = std::ranges::find_if(kEnds, [&](const KnownEnd& each) {
            return (each.attribute.empty() ? is_container : each.attribute == label.name) &&
                   name.module == each.module && name.qualname == each.type;
        });
        remedy = found == kEnds.end() ? std::string_view() : found->remedy;
        return !remedy.empty();
    });
    return remedy;
}

bool has_method(PyTypeObject* type, std::string_view name) {
    bool found = false;
    capture::visit_bases(type, [&](PyTypeObject* base) {
        found = capture::find_in_dict(base->tp_dict, name) != nullptr;
        return found;
    });
    return found;
}

bool is_task(PyObject* object) {
    bool found = false;
    if (object != nullptr) {
        capture::visit_bases(Py_TYPE(object), [&](PyTypeObject* base) {
            const capture::TypeName name = capture::name_of_type(base);
            found = name.qualname == "Task" &&
                    (name.module == "_asyncio" || name.module == "asyncio.tasks");
            return found;
        });
    }
    return found;
}

std::string_view end_method(PyTypeObject* type, std::string_view attribute) {
    constexpr std::array<const char*, 12> kNames{"close",
                                                 "cancel",
                                                 "clear",
                                                 "reset",
                                                 "release",
                                                 "free_memory",
                                                 "cleanup",
                                                 "shutdown",
                                                 "stop",
                                                 "terminate",
                                                 "remove",
                                                 "unregister"};
    for (const char* const name : kNames) {
        bool drops_value = false;
        // A method usually calls the method that it overrides.
        capture::visit_bases(type, [&](PyTypeObject* base) {
            PyObject* const method = capture::find_in_dict(base->tp_dict, name);
            if (method == nullptr || !PyFunction_Check(method)) {
                return method != nullptr;
            }
            auto* const code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(method));
            drops_value = code->co_argcount == 1 && drops(code, attribute);
            return drops_value || code->co_argcount != 1;
        });
        if (drops_value) {
            return name;
        }
    }
    return {};
}

}  // namespace cyclewatch::retention
