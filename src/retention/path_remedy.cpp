// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "capture/labelers/text.h"
#include "capture/object_summary.h"
#include "device/readers/plain_attributes.h"
#include "retention/known_ends.h"
#include "retention/path_names.h"
#include "retention/views.h"

namespace cyclewatch::retention {
namespace {

using capture::Utf8Text;
using model::EdgeKind;

// The call that copies a view, if the step leads from the view to the owner of its memory.
std::string_view copy_of_view(const Step& step) {
    if (step.is_small_view) {
        return ".clone()";
    }
    const bool is_array = step.from != nullptr && PyObject_IS_GC(step.from) == 0;
    return is_array && step.label.name == "base" && is_small_array(step.from, step.to) ? ".copy()"
                                                                                       : "";
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

bool is_hook(const Step& step) {
    return step.label.kind == EdgeKind::hook;
}

std::string remedy_of_hook(const Step& hook) {
    return "keep the handle that the registration of the " + hook.label.name +
           " returns, and call `handle.remove()`";
}

}  // namespace

// What to do about a kind of reference for which removing the reference is not the right remedy.
// The first rule that applies to a step decides.
const std::array<PathText::Rule, 4> PathText::kRules{&PathText::clearing_of_caches,
                                                     &PathText::removal_of_hook,
                                                     &PathText::end_of_known_owner,
                                                     &PathText::removal_from_container};

std::string PathText::remedy_for(std::size_t at, Number number) const {
    if (std::string copy = copy_of_views(at, number); !copy.empty()) {
        return copy;
    }
    for (const Rule rule : kRules) {
        if (std::optional<std::string> remedy = (this->*rule)(at)) {
            return *std::move(remedy);
        }
    }
    return number == Number::several ? removal_of_several(at) : removal_of_one(at);
}

// A view at or after step `at` that keeps much more memory alive than it shows.
std::string PathText::copy_of_views(std::size_t at, Number number) const {
    for (std::size_t i = at; i < steps_.size(); ++i) {
        const bool is_last = i + 1 == steps_.size();
        const std::string_view copy = !is_last         ? copy_of_view(steps_[i + 1])
                                      : is_small_view_ ? copy_call(steps_[i].to)
                                                       : "";
        const std::string holder = holder_of(i);
        if (!copy.empty() && !holder.empty()) {
            const std::string view = "`" + holder + suffix_at(i) + "`";
            return "store `" + std::string(copy) + "` of " +
                   (number == Number::several ? "each view such as " + view : "the view " + view) +
                   ", because a view keeps the whole array alive" + line_of(references()[i]);
        }
    }
    return {};
}

std::optional<std::string> PathText::clearing_of_caches(std::size_t at) const {
    const auto end = steps_.begin() + static_cast<std::ptrdiff_t>(at);
    const auto cached = std::find_if(end, steps_.end(), is_of_cached_call);
    return cached == steps_.end()
               ? std::nullopt
               : std::optional(
                     clearing_of_cache(static_cast<std::size_t>(cached - steps_.begin())) +
                     line_of(references()[at]));
}

std::optional<std::string> PathText::removal_of_hook(std::size_t at) const {
    const auto end = steps_.begin() + static_cast<std::ptrdiff_t>(at);
    const auto hook = is_hook(steps_[at]) ? end : std::find_if(steps_.begin(), end, is_hook);
    const bool applies = hook == end ? is_hook(steps_[at]) : is_part_of_function(steps_[at]);
    if (!applies) {
        return std::nullopt;
    }
    const bool is_only_hook = path_.frees[hook->cut_at];
    return is_only_hook ? remedy_of_hook(*hook)
                        : "keep the handles that the registration of each hook returns, and call "
                          "`handle.remove()` of all of them";
}

std::optional<std::string> PathText::end_of_known_owner(std::size_t at) const {
    for (const std::size_t i : {at, at == 0 ? at : at - 1}) {
        std::string remedy(known_end(steps_[i].from, steps_[i].label, i != at));
        const std::string owner = holder_of(i);
        std::size_t mark = remedy.find("{}");
        const bool is_named = mark == std::string::npos || !owner.empty();
        for (; mark != std::string::npos; mark = remedy.find("{}", mark + owner.size())) {
            remedy.replace(mark, 2, owner);
        }
        if (!remedy.empty() && is_named) {
            return remedy;
        }
    }
    return std::nullopt;
}

std::optional<std::string> PathText::removal_from_container(std::size_t at) const {
    const Step& step = steps_[at];
    if (!is_item(step)) {
        return std::nullopt;
    }
    const std::string holder = named_holder_of(at);
    if (step.from != nullptr && PyContext_CheckExact(step.from)) {
        return removal_from_context(at, holder);
    }
    if (at > 0 && is_of_queue(steps_[at - 1]) && !holder_of(at - 1).empty()) {
        if (std::string end = end_of_producer(); !end.empty()) {
            return end;
        }
        return "take the items with `" + holder_of(at - 1) +
               ".get()` once nobody waits for them, or give the queue a `maxsize`";
    }
    if (const std::int64_t most = most_items(step.from); most > 0 && !holder.empty()) {
        return "lower `maxlen` of the deque `" + holder + "`, which keeps at most " +
               base::format_count(static_cast<std::uint64_t>(most)) + " objects";
    }
    return std::nullopt;
}

// A thread that waits until somebody takes an item from its queue ends if the object is closed.
std::string PathText::end_of_producer() const {
    const auto is_put = [this](const Root& each) {
        return each.thread == root_->thread && each.code != nullptr &&
               Utf8Text(each.code->co_qualname).view() == "Queue.put";
    };
    const std::string thread = thread_name();
    if (thread.empty() || std::ranges::none_of(roots_.all(), is_put)) {
        return {};
    }
    PyObject* const target = device::instance_attribute(thread_object(root_->thread), "_target");
    PyObject* const owner =
        target != nullptr && PyMethod_Check(target) ? PyMethod_GET_SELF(target) : nullptr;
    std::string call;
    for (const char* const name : {"close", "stop", "shutdown"}) {
        const python::OwnedRef text = device::interned(name);
        if (owner != nullptr && call.empty() &&
            device::class_attribute(Py_TYPE(owner), text.get()) != nullptr) {
            call = ", for example with `" + std::string(base::last_part(full_name(owner))) + "." +
                   name + "()`";
        }
    }
    return "end thread `" + thread +
           "`, which waits in `Queue.put()` for somebody to take an item" + call;
}

std::string PathText::named_holder_of(std::size_t at) const {
    return at == 0 && is_step_in_root() ? "" : holder_of(at);
}

std::string PathText::removal_of_one(std::size_t at) const {
    const Step& step = steps_[at];
    const std::string holder = named_holder_of(at);
    const std::string line = line_of(references()[at]);
    switch (step.label.kind) {
        case EdgeKind::local:
            return removal_of_variable(at);
        case EdgeKind::closure:
            return "do not capture `" + step.label.name + "`" + line;
        case EdgeKind::attribute:
        case EdgeKind::slot:
            if (has_several_entries(at)) {
                return removal_of_entries(at) + line;
            }
            return "delete `" + (holder.empty() ? step.label.name : holder + suffix_at(at)) +
                   "` or set it to None" + line;
        case EdgeKind::key_value:
        case EdgeKind::captured_key_value:
        case EdgeKind::index:
            return holder.empty() ? "" : "remove `" + holder + suffix_at(at) + "`" + line;
        case EdgeKind::dict_key:
            if (!holder.empty() && at + 1 < steps_.size()) {
                return "remove the entry of `" + holder + "` whose key refers to it" + line;
            }
            [[fallthrough]];
        case EdgeKind::element:
        case EdgeKind::opaque_key_value:
            return holder.empty() ? "" : "remove it from `" + holder + "`" + line;
        default:
            return is_traceback(step) ? removal_of_traceback(at) : "";
    }
}

std::string PathText::removal_of_variable(std::size_t at) const {
    const Step& step = steps_[at];
    const std::string holder = named_holder_of(at);
    if (is_of_generator(step)) {
        return holder.empty() ? "" : "call `" + holder + ".close()`";
    }
    if (at > 0) {
        return holder.empty() ? "" : clearing_of_frame(at, holder);
    }
    const bool is_settable = root_ != nullptr && root_->is_user_code && root_->is_unread();
    if (std::string end_of_call =
            end_of_thread(is_settable ? std::set{step.label.name} : std::set<std::string>());
        !end_of_call.empty()) {
        return end_of_call;
    }
    return "delete the variable `" + step.label.name + "` of " + base::clean_text(root_name()) +
           line_of(references()[at]);
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
