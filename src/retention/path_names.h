// SPDX-License-Identifier: Apache-2.0
// The references of a path after folding (merging the parts of an object into the object), and
// their texts. REQUIRES: GIL held. RUNS PYTHON: never. May throw std::bad_alloc.
#pragma once

#include <Python.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "capture/labelers/text.h"
#include "model/edge_label.h"
#include "model/reference_graph.h"
#include "model/retention.h"
#include "retention/heap_graph.h"
#include "retention/path_search.h"
#include "retention/roots.h"

namespace cyclewatch::retention {

struct Label {
    model::EdgeKind kind = model::EdgeKind::unknown;
    std::string name;
    std::uint32_t index = 0;
};

struct Step {
    PyObject* from = nullptr;  // null: a thread's state; for a namespace, its module or class
    PyObject* to = nullptr;
    Label label;
    model::PartRole role = model::PartRole::none;  // of the raw holder
    // Identifies the removable reference by the position of its target in the raw path.
    std::size_t cut_at = 0;
    bool in_tuple = false;       // the last raw holder is a tuple
    bool is_small_view = false;  // the holder is a tensor that is a view of a part of the target
};

// True for an item of a container.
[[nodiscard]] inline bool is_item(const Step& step) {
    using model::EdgeKind;
    return step.label.kind == EdgeKind::key_value || step.label.kind == EdgeKind::index ||
           step.label.kind == EdgeKind::captured_key_value ||
           step.label.kind == EdgeKind::opaque_key_value || step.label.kind == EdgeKind::element;
}

[[nodiscard]] inline bool is_attribute(const Step& step) {
    return step.label.kind == model::EdgeKind::attribute ||
           step.label.kind == model::EdgeKind::slot;
}

// True for arguments that functools.lru_cache has stored as the key of a cached result.
// cache_clear() removes them.
[[nodiscard]] inline bool is_cached_call(const Step& step) {
    return step.label.kind == model::EdgeKind::dict_key && step.from != nullptr &&
           capture::base_named(Py_TYPE(step.from), "functools._lru_cache_wrapper") != nullptr;
}

// True for the arguments or the result of a cached call.
[[nodiscard]] inline bool is_of_cached_call(const Step& step) {
    return is_cached_call(step) ||
           (step.label.kind == model::EdgeKind::member && step.label.name == "cached_result");
}

// True for the reference of an exception to its traceback.
[[nodiscard]] inline bool is_traceback(const Step& step) {
    return step.label.kind == model::EdgeKind::member && step.label.name == "__traceback__";
}

// True for a variable of a suspended generator or coroutine.
[[nodiscard]] inline bool is_of_generator(const Step& step) {
    return step.label.kind == model::EdgeKind::local && step.from != nullptr &&
           (PyGen_CheckExact(step.from) != 0 || PyCoro_CheckExact(step.from) != 0);
}

// True for the references of a torch optimizer to its state and its parameters, which it needs.
[[nodiscard]] bool is_part_of_optimizer(const Step& step);

// The number of items of a list, dict, set or deque; 0 for other objects.
[[nodiscard]] Py_ssize_t items_of(PyObject* object);

// " (train.py:12)"; "" if the line is not known.
[[nodiscard]] std::string line_of(const model::Reference& reference);

// "model.Engine", "function model.Engine.run", "class model.Engine", "module model".
[[nodiscard]] std::string full_name(PyObject* object);

// An instruction without a full stop; "" if it depends on the program.
struct Remedy {
    std::string text;
    model::RemedyKind kind = model::RemedyKind::release;
};

[[nodiscard]] inline Remedy release(std::string text) {
    return {std::move(text), model::RemedyKind::release};
}

// `text` must state the condition under which the value can be dropped.
[[nodiscard]] inline Remedy removal(std::string text) {
    return {std::move(text), model::RemedyKind::removal};
}

inline constexpr std::string_view kOnceUnneeded = " once it is no longer needed";
inline constexpr std::string_view kOnceUnused = " once it is no longer used";

// Whether a remedy is for one object, or for several that are stored in the same way.
enum class Number : std::uint8_t { one, several };

class PathText {
  public:
    // `root`: null for an anonymous root. `is_small_view`: the last object is a view of memory that
    // is much larger. The arguments must outlive this object.
    PathText(const HeapGraph& graph,
             const Roots& roots,
             const Root* root,
             const RawPath& path,
             const std::vector<Step>& steps,
             bool is_small_view);

    [[nodiscard]] model::PathRoot root() const;
    [[nodiscard]] std::vector<model::Reference> references() const;
    // "train() local model -> model.layers[3].weight"
    [[nodiscard]] std::string folded() const;
    // The holder of step `at` as folded() writes it: "model.layers". "" if the step is part of the
    // root's text.
    [[nodiscard]] std::string holder_of(std::size_t at) const;
    // How to remove step `at`.
    [[nodiscard]] Remedy remedy_for(std::size_t at, Number number) const;
    // See RetentionPath::filled.
    [[nodiscard]] double filled() const;
    // How to remove the callback of the interpreter in which the path begins, or what to register
    // instead; "" if it begins elsewhere.
    [[nodiscard]] std::string removal_of_callback() const;
    // How to end the call of another thread in which the path begins; "" if it begins elsewhere.
    // `settable`: variables of the call that it does not read again. A worker that serves a queue
    // should rather set them to None than end.
    [[nodiscard]] std::string end_of_thread(const std::set<std::string>& settable) const;
    // How to end the asyncio task whose coroutine has the variable of this step; "" if there is
    // none.
    [[nodiscard]] std::string end_of_task(std::size_t variable) const;
    // True if code outside the holder's class adds the attribute of step `at` to an instance.
    [[nodiscard]] bool is_stored_outside(std::size_t at) const;
    // True if step `at` is an attribute that begins with an underscore, and that the holder's
    // class, which is not code of the program, stores itself.
    [[nodiscard]] bool is_private_to_library(std::size_t at) const;
    // True if step `at` is an item of a queue, a bounded deque, a context or another container with
    // many items.
    [[nodiscard]] bool is_collected(std::size_t at) const;
    // True if a thread still handles the exception whose traceback is step `at`.
    [[nodiscard]] bool is_handled(std::size_t at) const;

  private:
    // True if the first step is part of the root's text.
    [[nodiscard]] bool is_step_in_root() const;
    [[nodiscard]] std::string root_name() const;
    [[nodiscard]] std::string holder_of_first() const;
    [[nodiscard]] std::string c_code() const;
    [[nodiscard]] std::string first_variable() const;
    // The rules of remedy_for(); nullopt if a rule does not apply to step `at`.
    using Rule = std::optional<Remedy> (PathText::*)(std::size_t) const;
    [[nodiscard]] std::optional<Remedy> clearing_of_caches(std::size_t at) const;
    [[nodiscard]] std::optional<Remedy> removal_of_hook(std::size_t at) const;
    [[nodiscard]] std::optional<Remedy> end_of_known_owner(std::size_t at) const;
    [[nodiscard]] std::optional<Remedy> removal_from_container(std::size_t at) const;
    static const std::array<Rule, 5> kRules;
    [[nodiscard]] std::optional<Remedy> end_of_private_use(std::size_t at) const;
    [[nodiscard]] std::string end_method_call(std::size_t at) const;
    // The call that unregisters the callback of the interpreter in which the path begins; "" if it
    // begins elsewhere, or if there is no such call.
    [[nodiscard]] std::string end_of_registration() const;
    // What ends a callback that a running event loop will call.
    [[nodiscard]] std::optional<Remedy> end_of_callback(std::size_t at) const;
    // The remedy if no rule applies.
    [[nodiscard]] Remedy removal_of(std::size_t at, Number number) const;
    [[nodiscard]] Remedy removal_of_one(std::size_t at) const;
    [[nodiscard]] Remedy removal_of_several(std::size_t at) const;
    // True if step `at` is an attribute whose value is a container, of which the next step is an
    // entry. The entry is not the cut, so several entries refer to the object.
    [[nodiscard]] bool has_several_entries(std::size_t at) const;
    // True if step `at` is an attribute whose value is a collection of another kind, such as a
    // cache of cachetools, which may lead to the object through several attributes of its own.
    [[nodiscard]] bool is_cleared_collection(std::size_t at) const;
    // REQUIRES: has_several_entries(at).
    [[nodiscard]] std::string removal_of_entries(std::size_t at, const std::string& line) const;
    // The attribute of an item that leads to the object: "._out", or "[0]._out" if the item is a
    // tuple; "" if there is none that a program can delete. `item`: the item's step.
    [[nodiscard]] std::string attribute_of_item(std::size_t item) const;
    // The first step of `list[0]['key'][0]`, whose last is `item`, that leads to one of several
    // containers; `item` if there is none.
    [[nodiscard]] std::size_t outermost_item(std::size_t item) const;
    [[nodiscard]] Remedy removal_of_variable(std::size_t at) const;
    // How to end the thread in which the path begins, if it fills a queue.
    [[nodiscard]] std::string end_of_producer() const;
    [[nodiscard]] std::string copy_of_views(std::size_t at, Number number) const;
    // holder_of(), unless step `at` is part of the root's text.
    [[nodiscard]] std::string named_holder_of(std::size_t at) const;
    // How to clear the functools.lru_cache to which step `at` belongs.
    [[nodiscard]] std::string clearing_of_cache(std::size_t at) const;
    // How to remove the value of a variable from a context. `context`: an expression for it.
    [[nodiscard]] std::string removal_from_context(std::size_t at,
                                                   const std::string& context) const;
    // How to remove a variable of a frame of a function that has ended. `frame`: an expression for
    // the frame or its traceback.
    [[nodiscard]] std::string clearing_of_frame(std::size_t at, const std::string& frame) const;
    // How to remove a reference of an exception to its traceback.
    [[nodiscard]] std::string removal_of_traceback(std::size_t at) const;
    // The name or number of the root's thread; "" for the calling thread.
    [[nodiscard]] std::string thread_name() const;
    [[nodiscard]] std::string suffix_at(std::size_t at) const;
    // ".tb_frame", after as many ".tb_next" as needed, if step `at` is a reference of a frame to
    // which a traceback leads; otherwise, "".
    [[nodiscard]] std::string frame_of_traceback(std::size_t at) const;
    [[nodiscard]] std::string folded(std::vector<std::string>& holders) const;

    const HeapGraph& graph_;
    const Roots& roots_;
    const Root* root_;
    const RawPath& path_;
    const std::vector<Step>& steps_;
    bool is_small_view_;
};

}  // namespace cyclewatch::retention
