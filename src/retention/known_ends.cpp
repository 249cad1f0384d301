// SPDX-License-Identifier: Apache-2.0
#include "retention/known_ends.h"

#include <algorithm>
#include <array>

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
        "call `detach()` of the `weakref.finalize` object, or pass it a function and arguments "
        "that do not refer to the object"},
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

}  // namespace

std::string_view known_end(PyObject* owner, const Label& label, bool is_container) {
    if (owner == nullptr ||
        (label.kind != model::EdgeKind::attribute && label.kind != model::EdgeKind::slot)) {
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

}  // namespace cyclewatch::retention
