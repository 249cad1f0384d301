// SPDX-License-Identifier: Apache-2.0
#include "capture/labelers/labelers.h"

namespace cyclewatch::capture {

// Labels the members of BaseException. label_members() and label_instance() label the members of
// subclasses (value, obj, exceptions ...) and the __dict__.
void label_exception(PyObject* object, ReferenceSink& sink) {
    const auto* exception = reinterpret_cast<PyBaseExceptionObject*>(object);
    add_member(sink, exception->args, "args");
    add_member(sink, exception->notes, "__notes__");
    add_member(sink, exception->traceback, "__traceback__");
    add_member(sink, exception->cause, "__cause__");
    add_member(sink, exception->context, "__context__");
}

}  // namespace cyclewatch::capture
