// SPDX-License-Identifier: Apache-2.0
// Remedies for what event loops, contexts, queues and the interpreter keep until a call ends it.
#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "capture/labelers/text.h"
#include "device/readers/plain_attributes.h"
#include "retention/captured_step.h"
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

// "SIGINT"; "" if the number is not that of a signal. Of several names, the last is the usual one.
std::string name_of_signal(int number) {
    PyObject* const module = capture::find_in_dict(PyImport_GetModuleDict(), "_signal");
    std::string found;
    Py_ssize_t position = 0;
    PyObject* name = nullptr;
    PyObject* value = nullptr;
    while (number > 0 && module != nullptr && PyModule_Check(module) &&
           PyDict_Next(PyModule_GetDict(module), &position, &name, &value) != 0) {
        const Utf8Text text(name);
        if (text.view().starts_with("SIG") && !text.view().starts_with("SIG_") &&
            device::integer(value) == number) {
            found = text.view();
        }
    }
    return found;
}

// The function or object that was registered; null if the path begins at its arguments. Python 3.14
// stores callbacks of atexit in a list of tuples of a function and its arguments.
PyObject* registered(const std::vector<Step>& steps) {
    std::size_t at = PyList_Check(steps.front().to) ? 1 : 0;
    if (at == 1 && at + 1 < steps.size() && PyTuple_CheckExact(steps[at].to)) {
        at += steps[at + 1].label.index == 0 ? 1 : 0;
    }
    PyObject* const found = at < steps.size() ? steps[at].to : nullptr;
    return found != nullptr && PyCallable_Check(found) != 0 ? found : nullptr;
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

std::string PathText::end_of_registration() const {
    if (root_ == nullptr || steps_.empty()) {
        return {};
    }
    PyObject* const callback = registered(steps_);
    const std::string name =
        callback != nullptr ? "the " + full_name(callback) : "the function that has this argument";
    const std::string_view registry = root_->registry == nullptr ? "" : root_->registry;
    if (registry == "atexit callbacks") {
        return "call `atexit.unregister()` with " + name + std::string(kOnceUnneeded);
    }
    if (registry == "codec registry" &&
        std::string_view(root_->registry_variable) == "search_functions") {
        return "call `codecs.unregister()` with " + name + std::string(kOnceUnneeded);
    }
    if (const std::string signal = name_of_signal(root_->signal); !signal.empty()) {
        return "call `signal.signal(signal." + signal +
               ", former)` with the former handler, which the call that installed " + name +
               " returned, once this handler is no longer needed";
    }
    return {};
}

std::string PathText::removal_of_callback() const {
    if (steps_.empty() || !is_root_of_callback(root_) ||
        (root_->registry == nullptr && root_->signal == 0)) {
        return {};
    }
    const std::string end = end_of_registration();
    const std::size_t captured = captured_step(steps_, root_).value_or(steps_.size() - 1);
    const bool is_object = captured + 1 == steps_.size();
    return end + (end.empty() ? "" : ", or ") + "register a function that does not refer to the " +
           (is_object ? "object" : full_name(steps_[captured].to));
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
