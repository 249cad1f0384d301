// SPDX-License-Identifier: Apache-2.0
#include "capture/labelers/labelers.h"

namespace cyclewatch::capture {

// What every exception has; members of its type (value, obj, exceptions ...) and its __dict__
// come from label_members() and label_instance().
void label_exception(PyObject* object, ReferenceSink& sink) {
    const auto* exception = reinterpret_cast<PyBaseExceptionObject*>(object);
    add_member(sink, exception->args, "args");
    add_member(sink, exception->notes, "__notes__");
    add_member(sink, exception->traceback, "__traceback__");
    add_member(sink, exception->cause, "__cause__");
    add_member(sink, exception->context, "__context__");
}

}  // namespace cyclewatch::capture
