// SPDX-License-Identifier: Apache-2.0
// Remedies for what event loops, contexts, queues and the interpreter keep until a call ends it.
#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/text.h"
#include "capture/labelers/text.h"
#include "device/readers/plain_attributes.h"
#include "retention/path_names.h"

namespace cyclewatch::retention {
namespace {

using capture::Utf8Text;

// True for a reference of a timer or task of asyncio to its context.
bool is_context_of_asyncio(const Step& step) {
    const std::string module =
        step.from == nullptr ? "" : capture::name_of_type(Py_TYPE(step.from)).module;
    return step.label.name == "_context" &&
           (module == "_asyncio" || module.starts_with("asyncio."));
}

bool is_event_loop(PyObject* object) {
    return capture::has_base(Py_TYPE(object), "asyncio.base_events", "BaseEventLoop");
}

// True for an event loop whose run_forever() has been called and has not returned.
bool is_running_loop(PyObject* object) {
    PyObject* const thread = device::instance_attribute(object, "_thread_id");
    return thread != nullptr && thread != Py_None;
}

}  // namespace

// A running event loop calls what is in its queues by itself.
std::optional<Remedy> PathText::end_of_callback(std::size_t at) const {
    const Step& step = steps_[at];
    if (step.from == nullptr || !is_event_loop(step.from) || !is_running_loop(step.from) ||
        (step.label.name != "_scheduled" && step.label.name != "_ready")) {
        return std::nullopt;
    }
    const auto begin = steps_.begin() + static_cast<std::ptrdiff_t>(at);
    const std::string cancel =
        "call `cancel()` of the handle that `call_later()` or `call_at()` returned once it is no "
        "longer needed";
    return release(std::any_of(begin, steps_.end(), is_context_of_asyncio)
                       ? "pass `context=contextvars.Context()` to the call that creates the timer, "
                         "which otherwise keeps the context variables of its creator, or " +
                             cancel
                       : cancel);
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
           "`, which waits in `Queue.put()` for somebody to take an item, once its items are no "
           "longer needed" +
           call;
}

}  // namespace cyclewatch::retention
