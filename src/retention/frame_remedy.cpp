// SPDX-License-Identifier: Apache-2.0
// Remedies for variables of frames, and for the tracebacks that keep frames.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>

#include "base/text.h"
#include "capture/object_summary.h"
#include "retention/known_ends.h"
#include "retention/path_names.h"

namespace cyclewatch::retention {
namespace {

using model::EdgeKind;

// " of `train()` (train.py:12)": the frame that has caught the exception of a traceback.
std::string handler_text(PyObject* object) {
    if (PyTraceBack_Check(object) == 0) {
        return {};
    }
    const auto* const traceback = reinterpret_cast<PyTracebackObject*>(object);
    auto* const frame = reinterpret_cast<PyObject*>(traceback->tb_frame);
    const capture::ObjectSummary handler = capture::summarize(frame);
    const std::string file = handler.path.substr(handler.path.find_last_of("/\\") + 1);
    return base::clean_text(" of `" + std::string(base::last_part(handler.name)) + "()` (" + file +
                            ":" + std::to_string(handler.line) + ")");
}

}  // namespace

Remedy PathText::removal_of_variable(std::size_t at) const {
    const Step& step = steps_[at];
    const std::string holder = named_holder_of(at);
    if (is_of_generator(step)) {
        if (std::string end = end_of_task(at); !end.empty()) {
            return removal(std::move(end));
        }
        return removal(holder.empty() ? ""
                                      : "call `" + holder + ".close()` once it is no longer used");
    }
    if (at > 0) {
        return release(holder.empty() ? "" : clearing_of_frame(at, holder));
    }
    const bool is_unread = root_ != nullptr && root_->is_unread();
    const bool is_settable = is_unread && root_->is_user_code;
    if (std::string end_of_call =
            end_of_thread(is_settable ? std::set{step.label.name} : std::set<std::string>());
        !end_of_call.empty()) {
        return removal(std::move(end_of_call));
    }
    std::string text = "delete the variable `" + step.label.name + "` of " +
                       base::clean_text(root_name()) + line_of(references()[at]);
    return is_unread ? release(text + ", which its function does not read again")
                     : removal(text + std::string(kOnceUnneeded));
}

// A coroutine that a task runs cannot be closed, and a task that is only dropped never ends.
std::string PathText::end_of_task(std::size_t variable) const {
    if (variable == 0 || variable >= steps_.size() || !is_of_generator(steps_[variable]) ||
        !is_task(steps_[variable - 1].from)) {
        return {};
    }
    const std::string task = holder_of(variable - 1);
    return (task.empty() ? "cancel the task" : "call `" + task + ".cancel()`") +
           " if nobody needs its result, or complete what the task waits for";
}

std::string PathText::end_of_thread(const std::set<std::string>& settable) const {
    const std::string thread = thread_name();
    if (thread.empty() || root_ == nullptr || root_->code == nullptr) {
        return {};
    }
    const std::string& location = root().location;
    const std::string call = base::clean_text(root_name()) + "` in thread `" + thread + "` (" +
                             location.substr(location.find_last_of("/\\") + 1) + ")";
    // A worker that has handled an exception goes on, so it is not the call that has to end.
    const Step& first = steps_.front();
    if (first.label.kind == EdgeKind::local && first.to != nullptr &&
        PyExceptionInstance_Check(first.to)) {
        return "set the variable `" + first.label.name + "` of `" + call +
               " to None once the exception has been handled, or end this call";
    }
    if (!settable.empty()) {
        std::string names;
        for (const std::string& name : settable) {
            names += (names.empty() ? "`" : "` and `") + base::clean_text(name);
        }
        const bool is_one = settable.size() == 1;
        return (is_one ? "set the variable " : "set the variables ") + names + "` of `" + call +
               " to None after " + (is_one ? "its" : "their") +
               " last use, or end this call if the thread is no longer needed";
    }
    return "end the call of `" + call + " if it is no longer needed";
}

// Only the interpreter can delete a variable of a function that has ended.
std::string PathText::clearing_of_frame(std::size_t at, const std::string& frame) const {
    const bool is_traceback =
        PyTraceBack_Check(graph_.object(path_.nodes[steps_[at - 1].cut_at])) != 0;
    return is_traceback ? "call `traceback.clear_frames(" + frame + ")`"
                        : "call `" + frame + ".clear()`";
}

bool PathText::is_handled(std::size_t at) const {
    const std::uint32_t position = steps_[at].cut_at;
    if (position == 0) {
        return false;
    }
    return std::ranges::any_of(roots_.of(path_.nodes[position - 1]), [](const Root& root) {
        return root.kind == model::RootKind::exception;
    });
}

std::string PathText::removal_of_traceback(std::size_t at) const {
    const bool is_unnamed =
        at <= 1 && root_ != nullptr && root_->kind == model::RootKind::exception;
    const std::string exception = is_unnamed ? "sys.exception()" : holder_of(at);
    std::string removal = exception.empty() ? "" : "set `" + exception + ".__traceback__` to None";
    if (!is_handled(at)) {
        return removal;
    }
    // The first frame of the traceback is the one that has caught the exception.
    PyObject* const traceback = graph_.object(path_.nodes[steps_[at].cut_at]);
    const std::string block = "the `except` block" + handler_text(traceback) +
                              ", which still handles " + full_name(steps_[at].from);
    const std::string thread = thread_name();
    return !thread.empty()   ? "let thread `" + thread + "` leave " + block
           : removal.empty() ? "leave " + block
                             : "leave " + block + ", or " + removal + " in it";
}

}  // namespace cyclewatch::retention
