// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/text.h"
#include "capture/labelers/text.h"
#include "capture/object_summary.h"
#include "device/readers/plain_attributes.h"
#include "retention/path_names.h"

namespace cyclewatch::retention {
namespace {

using model::EdgeKind;

// " (train.py:12)"; "" if the line is not known.
std::string line_of(const model::Reference& reference) {
    const std::string& location = reference.location;
    return location.find(':') == std::string::npos
               ? ""
               : " (" + location.substr(location.find_last_of("/\\") + 1) + ")";
}

// The call that copies a view, if the step leads from the view to the owner of its memory.
std::string copy_of_view(const Step& step) {
    if (step.label.kind == EdgeKind::member && step.label.name == "_base") {
        return ".clone()";
    }
    const bool is_array = step.from != nullptr && PyObject_IS_GC(step.from) == 0;
    return is_array && step.label.name == "base" ? ".copy()" : "";
}

// True for a part of what a function uses, as opposed to one of many items that it collects.
bool is_part_of_function(const Step& step) {
    return step.label.kind == EdgeKind::closure || step.label.kind == EdgeKind::key_value ||
           step.label.kind == EdgeKind::attribute || step.label.kind == EdgeKind::slot;
}

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

// The limit of a bounded collections.deque; 0 for other objects.
std::int64_t most_items(PyObject* object) {
    if (object == nullptr || !capture::has_tp_name(Py_TYPE(object), "collections.deque")) {
        return 0;
    }
    const python::OwnedRef name = device::interned("maxlen");
    const python::OwnedRef limit = device::c_attribute(object, name.get());
    return device::integer(limit.get()).value_or(0);
}

// True if the container of `step` stores the items of a queue.Queue or asyncio.Queue, to which
// `holder` leads from the queue.
bool is_of_queue(const Step& holder) {
    for (PyTypeObject* type = holder.from == nullptr ? nullptr : Py_TYPE(holder.from);
         type != nullptr;
         type = type->tp_base) {
        const capture::TypeName name = capture::name_of_type(type);
        if (name.qualname == "Queue" &&
            (name.module == "queue" || name.module == "asyncio.queues")) {
            return holder.label.name == "queue" || holder.label.name == "_queue";
        }
    }
    return false;
}

// True for a reference of a timer or task of asyncio to its context.
bool is_context_of_asyncio(const Step& step) {
    const std::string module =
        step.from == nullptr ? "" : capture::name_of_type(Py_TYPE(step.from)).module;
    return step.label.name == "_context" &&
           (module == "_asyncio" || module.starts_with("asyncio."));
}

std::string remedy_of_hook(const Step& hook) {
    return "keep the handle that the registration of the " + hook.label.name +
           " returns, and call `handle.remove()`";
}

}  // namespace

std::string PathText::remedy_for(std::size_t at) const {
    const std::string removal = removal_of(at);
    const std::string copy = at + 1 < steps_.size() ? copy_of_view(steps_[at + 1]) : "";
    const std::string holder = holder_of(at);
    return removal.empty() || copy.empty() || holder.empty()
               ? removal
               : "store `" + copy + "` of the view as `" + holder + suffix_at(at) + "`, or " +
                     removal;
}

std::string PathText::removal_of(std::size_t at) const {
    const Step& step = steps_[at];
    const model::Reference reference = references()[at];
    const std::string holder = at == 0 && is_step_in_root() ? "" : holder_of(at);
    std::string text;
    const auto end = steps_.begin() + static_cast<std::ptrdiff_t>(at);
    if (const auto cached = std::find_if(end, steps_.end(), is_of_cached_call);
        cached != steps_.end()) {
        return clearing_of_cache(static_cast<std::size_t>(cached - steps_.begin())) +
               line_of(reference);
    }
    const auto is_hook = [](const Step& each) { return each.label.kind == EdgeKind::hook; };
    const auto hook = std::find_if(steps_.begin(), end, is_hook);
    if (hook != end && is_part_of_function(step)) {
        return remedy_of_hook(*hook);
    }
    switch (step.label.kind) {
        case EdgeKind::hook:
            return remedy_of_hook(step);
        case EdgeKind::local:
            if (is_of_generator(step)) {
                return holder.empty() ? "" : "call `" + holder + ".close()`";
            }
            if (at > 0) {
                return holder.empty() ? "" : clearing_of_frame(at, holder);
            }
            if (std::string end_of_call = end_of_thread(); !end_of_call.empty()) {
                return end_of_call;
            }
            return "delete the variable `" + step.label.name + "` of " +
                   base::clean_text(root_name()) + line_of(reference);
        case EdgeKind::closure:
            return "do not capture `" + step.label.name + "`" + line_of(reference);
        case EdgeKind::attribute:
        case EdgeKind::slot:
            text = "delete `" + (holder.empty() ? step.label.name : holder + suffix_at(at)) +
                   "` or set it to None";
            return text + line_of(reference);
        case EdgeKind::key_value:
        case EdgeKind::captured_key_value:
        case EdgeKind::index:
            if (step.from != nullptr && PyContext_CheckExact(step.from)) {
                return removal_from_context(at, holder);
            }
            if (at > 0 && is_of_queue(steps_[at - 1]) && !holder_of(at - 1).empty()) {
                return "take the items with `" + holder_of(at - 1) +
                       ".get()` once nobody waits for them, or give the queue a `maxsize`";
            }
            if (const std::int64_t most = most_items(step.from); most > 0 && !holder.empty()) {
                return "lower `maxlen` of the deque `" + holder + "`, which keeps at most " +
                       base::format_count(static_cast<std::uint64_t>(most)) + " objects";
            }
            return holder.empty() ? ""
                                  : "remove `" + holder + suffix_at(at) + "`" + line_of(reference);
        case EdgeKind::dict_key:
        case EdgeKind::element:
        case EdgeKind::opaque_key_value:
            return holder.empty() ? "" : "remove it from `" + holder + "`" + line_of(reference);
        default:
            return is_traceback(step) ? removal_of_traceback(at) : "";
    }
}

// A context does not support the deletion of a variable, but the variable can be set in it.
std::string PathText::removal_from_context(std::size_t at, const std::string& context) const {
    const std::string variable = base::clean_text(steps_[at].label.name);
    if (context.empty() || (at == 0 && root_->kind == model::RootKind::context_variable)) {
        return "reset the context variable with the token that `" + variable +
               ".set()` returned, or call `" + variable + ".set(None)`";
    }
    const std::string removal = "call `" + context + ".run(" + variable + ".set, None)`";
    return at > 0 && is_context_of_asyncio(steps_[at - 1])
               ? removal +
                     ", or pass `context=contextvars.Context()` to the call that creates the " +
                     std::string(base::last_part(full_name(steps_[at - 1].from)))
               : removal;
}

std::string PathText::removal_from_registry() const {
    if (root_ == nullptr || root_->registry == nullptr || steps_.empty() ||
        std::string_view(root_->registry) != "atexit callbacks") {
        return {};
    }
    PyObject* const registered = steps_.front().to;
    return "call `atexit.unregister()` with " +
           (PyCallable_Check(registered) != 0 ? "the " + full_name(registered)
                                              : "the function that has this argument") +
           " once it is no longer needed, or register a function that does not refer to the object";
}

std::string PathText::end_of_thread() const {
    const std::string thread = thread_name();
    if (thread.empty() || root_->code == nullptr) {
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
    return "end the call of `" + call;
}

// Only the interpreter can delete a variable of a function that has ended.
std::string PathText::clearing_of_frame(std::size_t at, const std::string& frame) const {
    const bool is_traceback =
        PyTraceBack_Check(graph_.object(path_.nodes[steps_[at - 1].cut_at])) != 0;
    return is_traceback ? "call `traceback.clear_frames(" + frame + ")`"
                        : "call `" + frame + ".clear()`";
}

// A function that captures the cached function, such as a wrapper, does not have its methods.
std::string PathText::clearing_of_cache(std::size_t at) const {
    if (at == 0 || steps_[at - 1].label.kind != EdgeKind::closure) {
        return "call `cache_clear()` on the cached function";
    }
    const std::string name = base::clean_text(steps_[at - 1].label.name);
    const std::string wrapper = holder_of(at - 1);
    const std::string hidden = "`" + name + "`, the cached function that a wrapper hides";
    return wrapper.empty() ? "call `cache_clear()` on " + hidden
                           : "call `inspect.getclosurevars(" + wrapper + ").nonlocals['" + name +
                                 "'].cache_clear()`, because a wrapper hides the cached function";
}

// True if a thread still handles the exception that refers to the traceback of step `at`.
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
