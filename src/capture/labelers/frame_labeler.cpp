// SPDX-License-Identifier: Apache-2.0
#include "capture/labelers/labelers.h"
#include "capture/labelers/text.h"
#include "capture/labelers/visit.h"
#include "compat/frame_access.h"

namespace cyclewatch::capture {
namespace {

using model::EdgeKind;

void label_frame_references(FrameAccess access, PyObject* object, ReferenceSink& sink) {
    visit_frame_references(access, object, [&](const cyclewatch_frame_reference* reference) {
        switch (reference->slot) {
            case CYCLEWATCH_SLOT_LOCAL:
                if (reference->name != nullptr) {
                    sink.add(
                        reference->target, EdgeKind::local, Utf8Text(reference->name).view(), 0);
                }
                break;
            case CYCLEWATCH_SLOT_STACK:
                sink.add(reference->target,
                         EdgeKind::stack,
                         {},
                         static_cast<std::uint32_t>(reference->index));
                break;
            case CYCLEWATCH_SLOT_MEMBER:
                add_member(sink, reference->target, reference->member);
                break;
        }
    });
}

}  // namespace

void label_frame(PyObject* object, ReferenceSink& sink) {
    label_frame_references(cyclewatch_visit_frame, object, sink);
}

void label_generator(PyObject* object, ReferenceSink& sink) {
    label_frame_references(cyclewatch_visit_generator, object, sink);
}

void label_traceback(PyObject* object, ReferenceSink& sink) {
    const auto* traceback = reinterpret_cast<PyTracebackObject*>(object);
    add_member(sink, reinterpret_cast<PyObject*>(traceback->tb_next), "tb_next");
    add_member(sink, reinterpret_cast<PyObject*>(traceback->tb_frame), "tb_frame");
}

// Labels the members of BaseException. The members of subclasses (value, obj, exceptions ...) and
// the __dict__ are labelled by label_members() and label_instance().
void label_exception(PyObject* object, ReferenceSink& sink) {
    const auto* exception = reinterpret_cast<PyBaseExceptionObject*>(object);
    add_member(sink, exception->args, "args");
    add_member(sink, exception->notes, "__notes__");
    add_member(sink, exception->traceback, "__traceback__");
    add_member(sink, exception->cause, "__cause__");
    add_member(sink, exception->context, "__context__");
}

}  // namespace cyclewatch::capture
