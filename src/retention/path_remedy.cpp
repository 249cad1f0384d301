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
    return holder.from != nullptr &&
           (holder.label.name == "queue" || holder.label.name == "_queue") &&
           (capture::has_base(Py_TYPE(holder.from), "queue", "Queue") ||
            capture::has_base(Py_TYPE(holder.from), "asyncio.queues", "Queue"));
}

// True for what a cached function keeps, if it has a `cache_clear()` like those of functools: a
// function with this attribute, or a callable whose class has this method, such as those of
// cachetools.
bool is_of_caching_function(const Step& step) {
    constexpr const char* kName = "cache_clear";
    if (step.from == nullptr || PyType_Check(step.from) || Py_TYPE(step.from)->tp_call == nullptr) {
        return false;
    }
    if (PyFunction_Check(step.from)) {
        return device::entry(reinterpret_cast<PyFunctionObject*>(step.from)->func_dict, kName) !=
               nullptr;
    }
    return has_method(Py_TYPE(step.from), kName);
}

bool is_hook(const Step& step) {
    return step.label.kind == EdgeKind::hook;
}

std::string remedy_of_hook(const Step& hook) {
    return "keep the handle that the registration of the " + hook.label.name +
           " returns, and call `handle.remove()` once the hook is no longer needed";
}

}  // namespace

Py_ssize_t items_of(PyObject* object) {
    if (object == nullptr) {
        return 0;
    }
    return PyDict_Check(object)     ? PyDict_GET_SIZE(object)
           : PyAnySet_Check(object) ? PySet_GET_SIZE(object)
           : PyList_Check(object) || capture::has_tp_name(Py_TYPE(object), "collections.deque")
               ? Py_SIZE(object)
               : 0;
}

// What to do about a kind of reference for which removing the reference is not the right remedy.
// The first rule that applies to a step decides.
const std::array<PathText::Rule, 5> PathText::kRules{&PathText::clearing_of_caches,
                                                     &PathText::removal_of_hook,
                                                     &PathText::end_of_known_owner,
                                                     &PathText::end_of_private_use,
                                                     &PathText::removal_from_container};

Remedy PathText::remedy_for(std::size_t at, Number number) const {
    if (std::string copy = copy_of_views(at, number); !copy.empty()) {
        return release(std::move(copy));
    }
    for (const Rule rule : kRules) {
        if (std::optional<Remedy> remedy = (this->*rule)(at)) {
            return *std::move(remedy);
        }
    }
    Remedy remedy = removal_of(at, number);
    if (const std::string end = end_method_call(at); !end.empty() && !remedy.text.empty()) {
        remedy.text += ", or call `" + end + "`";
    }
    const auto end = steps_.begin() + static_cast<std::ptrdiff_t>(at);
    const auto hook = std::find_if(steps_.begin(), end, is_hook);
    // The hook adds more items for as long as it is registered.
    if (hook != end && !remedy.text.empty()) {
        remedy.text = remedy_of_hook(*hook) + "; while it is, " + remedy.text;
    }
    return remedy;
}

Remedy PathText::removal_of(std::size_t at, Number number) const {
    return number == Number::several ? removal_of_several(at) : removal_of_one(at);
}

// "engine.reset()": a method of the object whose attribute step `at`, or the container of step
// `at`, is. Its code drops the value, and its name says that it ends a use. "" if there is none.
std::string PathText::end_method_call(std::size_t at) const {
    const std::size_t owner = is_item(steps_[at]) && at > 0 ? at - 1 : at;
    const Step& step = steps_[owner];
    const std::string holder = holder_of(owner);
    const std::string_view method = is_attribute(step) && step.from != nullptr && !holder.empty()
                                        ? end_method(Py_TYPE(step.from), step.label.name)
                                        : "";
    return method.empty() ? "" : holder + "." + std::string(method) + "()";
}

// The methods of a library rely on the values of its private attributes.
std::optional<Remedy> PathText::end_of_private_use(std::size_t at) const {
    const std::string holder = named_holder_of(at);
    if (holder.empty() || !is_private_to_library(at)) {
        return std::nullopt;
    }
    const std::string end = end_method_call(at);
    return removal((end.empty() ? "drop `" + holder + "`" : "call `" + end + "`") +
                   std::string(kOnceUnneeded));
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

std::optional<Remedy> PathText::clearing_of_caches(std::size_t at) const {
    const auto end = steps_.begin() + static_cast<std::ptrdiff_t>(at);
    if (const auto cached = std::find_if(end, steps_.end(), is_of_cached_call);
        cached != steps_.end()) {
        return release(clearing_of_cache(static_cast<std::size_t>(cached - steps_.begin())) +
                       line_of(references()[at]));
    }
    const auto wrapper = std::find_if(end, steps_.end(), is_of_caching_function);
    const std::string name = wrapper == steps_.end()
                                 ? ""
                                 : holder_of(static_cast<std::size_t>(wrapper - steps_.begin()));
    return name.empty() ? std::nullopt
                        : std::optional(release("call `" + name + ".cache_clear()`"));
}

std::optional<Remedy> PathText::removal_of_hook(std::size_t at) const {
    const auto end = steps_.begin() + static_cast<std::ptrdiff_t>(at);
    const auto hook = is_hook(steps_[at]) ? end : std::find_if(steps_.begin(), end, is_hook);
    const bool applies = hook == end ? is_hook(steps_[at]) : is_part_of_function(steps_[at]);
    if (!applies) {
        return std::nullopt;
    }
    const bool is_only_hook = path_.frees[hook->cut_at];
    return release(is_only_hook
                       ? remedy_of_hook(*hook)
                       : "keep the handles that the registration of each hook returns, and call "
                         "`handle.remove()` of all of them once the hooks are no longer needed");
}

std::optional<Remedy> PathText::end_of_known_owner(std::size_t at) const {
    for (const std::size_t i : {at, at == 0 ? at : at - 1}) {
        if (std::optional<Remedy> remedy = end_of_callback(i)) {
            return remedy;
        }
        std::string remedy(known_end(steps_[i].from, steps_[i].label, i != at));
        const std::string owner = holder_of(i);
        std::size_t mark = remedy.find("{}");
        const bool is_named = mark == std::string::npos || !owner.empty();
        for (; mark != std::string::npos; mark = remedy.find("{}", mark + owner.size())) {
            remedy.replace(mark, 2, owner);
        }
        if (!remedy.empty() && is_named) {
            return release(std::move(remedy));
        }
    }
    return std::nullopt;
}

std::optional<Remedy> PathText::removal_from_container(std::size_t at) const {
    const Step& step = steps_[at];
    if (!is_item(step)) {
        return std::nullopt;
    }
    if (std::string end = end_of_task(at + 2); !end.empty()) {
        return removal(std::move(end));
    }
    const std::string holder = named_holder_of(at);
    if (step.from != nullptr && PyContext_CheckExact(step.from)) {
        return release(removal_from_context(at, holder));
    }
    if (at > 0 && is_of_queue(steps_[at - 1]) && !holder_of(at - 1).empty()) {
        if (std::string end = end_of_producer(); !end.empty()) {
            return removal(std::move(end));
        }
        return removal("take the items with `" + holder_of(at - 1) +
                       ".get()` once nobody waits for them, or give the queue a `maxsize`");
    }
    if (const std::int64_t most = most_items(step.from); most > 0 && !holder.empty()) {
        return removal("lower `maxlen` of the deque `" + holder + "` if fewer than its " +
                       base::format_count(static_cast<std::uint64_t>(most)) +
                       " items are needed; it keeps no more than these");
    }
    return std::nullopt;
}

bool PathText::is_collected(std::size_t at) const {
    constexpr Py_ssize_t kMany = 64;
    return removal_from_container(at).has_value() ||
           (is_item(steps_[at]) && !steps_[at].in_tuple && items_of(steps_[at].from) > kMany);
}

double PathText::filled() const {
    for (const Step& step : steps_) {
        const std::int64_t most = is_item(step) ? most_items(step.from) : 0;
        if (most > 0) {
            return static_cast<double>(std::max<Py_ssize_t>(Py_SIZE(step.from), 1)) /
                   static_cast<double>(most);
        }
    }
    return 0;
}

std::string PathText::named_holder_of(std::size_t at) const {
    return at == 0 && is_step_in_root() ? "" : holder_of(at);
}

Remedy PathText::removal_of_one(std::size_t at) const {
    const Step& step = steps_[at];
    const std::string holder = named_holder_of(at);
    const std::string line = line_of(references()[at]);
    switch (step.label.kind) {
        case EdgeKind::local:
            return removal_of_variable(at);
        case EdgeKind::closure: {
            const std::string end = end_of_registration();
            return removal("do not capture `" + step.label.name + "`" + line + ", or " +
                           (end.empty() ? "drop the function once it is no longer needed" : end));
        }
        case EdgeKind::attribute:
        case EdgeKind::slot:
            if (has_several_entries(at)) {
                return removal(removal_of_entries(at, line));
            }
            if (is_cleared_collection(at)) {
                return removal("call `" + holder_of(at + 1) + ".clear()`" + line +
                               " once its items are no longer needed");
            }
            return removal("set `" + (holder.empty() ? step.label.name : holder + suffix_at(at)) +
                           "` to None" + line + std::string(kOnceUnused));
        case EdgeKind::key_value:
        case EdgeKind::captured_key_value:
        case EdgeKind::index:
            return removal(holder.empty() ? ""
                                          : "remove `" + holder + suffix_at(at) + "`" + line +
                                                std::string(kOnceUnneeded));
        case EdgeKind::dict_key:
            if (!holder.empty() && at + 1 < steps_.size()) {
                return removal("remove the entry of `" + holder + "` whose key refers to it" +
                               line + std::string(kOnceUnneeded));
            }
            [[fallthrough]];
        case EdgeKind::element:
        case EdgeKind::opaque_key_value:
            return removal(holder.empty() ? ""
                                          : "remove it from `" + holder + "`" + line +
                                                std::string(kOnceUnneeded));
        default:
            return release(is_traceback(step) ? removal_of_traceback(at) : "");
    }
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

}  // namespace cyclewatch::retention
