// SPDX-License-Identifier: Apache-2.0
#include "retention/path_text.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/source_path.h"
#include "base/text.h"
#include "capture/edge_labeler.h"
#include "capture/labelers/labelers.h"
#include "capture/labelers/text.h"
#include "capture/labelers/visit.h"
#include "capture/object_summary.h"
#include "compat/getter_fields.h"
#include "retention/known_ends.h"
#include "retention/parts.h"
#include "retention/path_names.h"
#include "retention/single_action.h"

namespace cyclewatch::retention {
namespace {

using capture::Utf8Text;
using model::EdgeKind;
using model::PartRole;
using model::RootKind;

// Receives the labels of an object's references. Stores all labels in `all` or, if `all` is null,
// only the label of the reference to `target`.
class LabelOf final : public capture::ReferenceSink {
  public:
    LabelOf(PyObject* target, Keys keys, ContainerLabels* all = nullptr)
        : target_(target), keys_(keys), all_(all) {}

    [[nodiscard]] bool wants_values() const noexcept override { return keys_ == Keys::shown; }
    void add(PyObject* target, EdgeKind kind, std::string_view name, std::uint32_t index) override {
        ++count_;
        if (all_ != nullptr) {
            all_->add(target, kind, name, index);
        } else if (target == target_ && !found_) {
            found_ = true;
            label_ = {kind, std::string(name), index};
        }
    }
    [[nodiscard]] Label take() { return std::move(label_); }
    [[nodiscard]] std::size_t count() const noexcept { return count_; }

  private:
    PyObject* target_;
    Keys keys_;
    ContainerLabels* all_;
    bool found_ = false;
    std::size_t count_ = 0;
    Label label_;
};

Label label_of_field(PyObject* holder, PyObject* target) {
    const Py_ssize_t offset = field_with(holder, target);
    const char* const name = cyclewatch_name_of_field(Py_TYPE(holder), offset);
    return {name != nullptr ? EdgeKind::attribute : EdgeKind::field,
            name != nullptr ? name : "",
            static_cast<std::uint32_t>(offset)};
}

// If the dict also contains `value` under a name without a leading underscore, replaces `name` with
// that name.
void prefer_public_name(PyObject* dict, PyObject* value, std::string& name) {
    Py_ssize_t position = 0;
    PyObject* key = nullptr;
    PyObject* each = nullptr;
    while (PyDict_Check(dict) && PyDict_Next(dict, &position, &key, &each) != 0) {
        const Utf8Text text(key);
        if (each == value && !text.view().empty() && !text.view().starts_with('_')) {
            name = text.view();
            return;
        }
    }
}

// The name of the context variable whose value is `value`. Contexts store variables in a tree; the
// tp_traverse of its nodes visits each value before the variable.
Label context_variable(PyObject* node, PyObject* value) {
    Label label{EdgeKind::captured_key_value, "?", 0};
    bool is_next = false;
    capture::traverse_as(Py_TYPE(node), node, [&](PyObject* referent) {
        if (is_next && PyContextVar_CheckExact(referent)) {
            label.name = Utf8Text(capture::find_member(referent, "name")).view();
        }
        is_next = referent == value;
    });
    return label;
}

// The field name of an item of a named tuple; "" if there is none.
std::string field_name(PyObject* tuple, std::uint32_t index) {
    for (PyTypeObject* type = Py_TYPE(tuple); type != &PyTuple_Type; type = type->tp_base) {
        PyObject* const names = capture::find_in_dict(type->tp_dict, "_fields");
        if (names != nullptr && PyTuple_CheckExact(names) && index < PyTuple_GET_SIZE(names)) {
            return std::string(Utf8Text(PyTuple_GET_ITEM(names, index)).view());
        }
    }
    return {};
}

// True for a module whose children are its items: `layer['name']`, not `layer.name`.
bool is_dict_of_children(PyObject* module) {
    for (PyTypeObject* type = module == nullptr ? nullptr : Py_TYPE(module); type != nullptr;
         type = type->tp_base) {
        const capture::TypeName name = capture::name_of_type(type);
        if (name.module == "torch.nn.modules.container") {
            return name.qualname == "ModuleDict" || name.qualname == "ParameterDict";
        }
    }
    return false;
}

// Reduces a path of objects to the references that a programmer would write.
class Folding {
  public:
    Folding(const HeapGraph& graph, const Root* root, const RawPath& path, Labels& labels)
        : graph_(graph), root_(root), path_(path), labels_(labels) {}

    [[nodiscard]] std::vector<Step> steps() {
        begin();
        const std::size_t last = path_.nodes.size() - 1;
        while (at_ < last) {
            PyObject* const holder = object(at_);
            PyObject* const target = object(at_ + 1);
            Label label = label_of(holder, target);
            if (label.kind == EdgeKind::index && PyTuple_Check(holder)) {
                label.name = field_name(holder, label.index);
                label.kind = label.name.empty() ? EdgeKind::index : EdgeKind::member;
            }
            const auto* const known =
                label.kind == EdgeKind::unknown
                    ? graph_.library_reference(path_.nodes[at_], path_.nodes[at_ + 1])
                    : nullptr;
            if (known != nullptr) {
                label.kind = known->removable ? EdgeKind::attribute : EdgeKind::member;
                label.name = known->attribute;
                is_small_view_ = known->is_small_view;
            }
            if (root_ != nullptr && root_->is_namespace && at_ == 0) {
                name_in_namespace(label, target);
            }
            if (role_ == PartRole::nn_children && label.kind == EdgeKind::attribute &&
                is_dict_of_children(holder_)) {
                label.kind = EdgeKind::key_value;
            }
            if (holder_ != nullptr && is_lru_cache(holder_) && PyDict_CheckExact(holder) &&
                label.kind != EdgeKind::dict_key) {
                label.kind = EdgeKind::member;
                label.name = "cached_result";
            }
            advance(std::move(label), last);
        }
        return std::move(steps_);
    }

  private:
    [[nodiscard]] PyObject* object(std::size_t at) const { return graph_.object(path_.nodes[at]); }

    [[nodiscard]] Label label_of(PyObject* holder, PyObject* target) {
        const collector::HiddenReference* const of_array =
            graph_.hidden_reference(path_.nodes[at_], path_.nodes[at_ + 1]);
        if (of_array != nullptr) {
            return {of_array->kind, of_array->name, of_array->index};
        }
        return is_hamt_node(holder) ? context_variable(holder, target)
                                    : labels_.find(holder, role_, parent_, target);
    }

    void begin() {
        if (root_ == nullptr) {
            parent_ = holder_ = object(0);
            return;
        }
        if (root_->kind == RootKind::context_variable) {
            holder_ = parent_ = object(0);  // named by the variable
            return;
        }
        if (!root_->is_namespace) {
            const std::string name(Utf8Text(root_->owner).view());
            const EdgeKind kind = name.empty() ? EdgeKind::stack : EdgeKind::local;
            emit({kind, name, 0}, 0, path_.nodes.size() - 1);
            return;
        }
        holder_ = root_->owner;
        parent_ = root_->owner;
        role_ = root_->kind == RootKind::class_attribute ? PartRole::type_dict
                : PyDict_Check(object(0)) != 0           ? PartRole::module_dict
                                                         : PartRole::none;
    }

    // If exec() runs code in a dict, the variables of the code are labelled as local variables, not
    // as attributes.
    void name_in_namespace(Label& label, PyObject* value) const {
        if (label.kind == EdgeKind::attribute && label.name.starts_with('_')) {
            prefer_public_name(object(0), value, label.name);
        }
        if (root_->kind == RootKind::local_variable && label.kind == EdgeKind::attribute) {
            label.kind = EdgeKind::local;
        }
    }

    // Moves to the next object. Emits a step unless the next object is a part of the holder.
    void advance(Label label, std::size_t last) {
        const std::size_t target = at_ + 1;
        const PartRole role = target == last || holder_ == nullptr
                                  ? PartRole::none
                                  : role_in(holder_, object(at_), role_, object(target));
        if (role != PartRole::none) {
            at_ = target;
            role_ = role;
            return;
        }
        emit(std::move(label), target, last);
    }

    void emit(Label label, std::size_t target, std::size_t last) {
        // Skip the cell of a variable and the traceback of a frame. A program can remove a
        // reference to a traceback, but not the traceback's reference to the frame.
        const std::size_t traceback = PyTraceBack_Check(object(target)) != 0 ? target : last + 1;
        while (target < last && is_skipped(object(target))) {
            ++target;
        }
        PyObject* const from = holder_;
        const bool in_tuple = target > 0 && PyTuple_Check(object(target - 1)) != 0;
        const std::size_t cut_at = std::min(traceback, target);
        steps_.push_back({from, object(target), std::move(label), role_, cut_at, in_tuple});
        steps_.back().is_small_view = std::exchange(is_small_view_, false);
        at_ = target;
        holder_ = parent_ = object(target);
        role_ = PartRole::none;
    }

    const HeapGraph& graph_;
    const Root* root_;
    const RawPath& path_;
    Labels& labels_;
    std::size_t at_ = 0;
    PyObject* holder_ = nullptr;  // the object that the next reference belongs to
    PyObject* parent_ = nullptr;
    PartRole role_ = PartRole::none;
    bool is_small_view_ = false;  // of the next step
    std::vector<Step> steps_;
};

// How likely it is that the program forgot to remove the reference, least likely first; `never` if
// a program cannot remove the reference. Deleting a variable may free much more than the object.
enum class CutRank : std::uint8_t {
    never,
    variable_of_frame,
    part,
    variable,
    attribute,
    named_entry,
    entry,
    hook,
    known_end
};

CutRank rank_of(const Step& step, bool is_first) {
    switch (step.label.kind) {
        case EdgeKind::attribute:
        case EdgeKind::slot:
            return step.role == PartRole::nn_children ? CutRank::part : CutRank::attribute;
        case EdgeKind::local:  // only the running function can remove it
            return is_first                ? CutRank::variable
                   : is_of_generator(step) ? CutRank::part
                                           : CutRank::variable_of_frame;
        case EdgeKind::closure:
            return CutRank::part;
        case EdgeKind::key_value:
            return CutRank::named_entry;
        case EdgeKind::opaque_key_value:
        case EdgeKind::captured_key_value:
        case EdgeKind::element:
            return CutRank::entry;
        case EdgeKind::hook:
            return CutRank::hook;
        case EdgeKind::dict_key:
            return CutRank::entry;
        case EdgeKind::index:
            return step.in_tuple ? CutRank::never : CutRank::entry;
        default:
            return is_traceback(step) ? CutRank::part : CutRank::never;
    }
}

// If the line that stores the reference is unknown, decides by the code of the holder's class.
bool is_user_code(const Step& step, const model::Reference& reference, bool is_user_root) {
    const std::string text = reference.location.empty() && step.from != nullptr
                                 ? capture::summarize(step.from).path
                                 : std::string(base::path_of_location(reference.location));
    return text.empty() ? is_user_root : base::origin_of_path(text) == base::Origin::user;
}

// The step to cut. Steps whose removal frees the object are preferred, then container entries,
// because programs forget to remove an entry more often than to clear an attribute. The same holds
// for an attribute that other code has added to the instance of a class, and even more for a hook,
// which is preferred to what it uses, except items that it collects. Next are other attributes,
// which are nearer to the object than the caller's variable. If several steps are equally good, the
// last is chosen. The hook is also cut if what precedes it frees the object, because a program
// needs a module longer than the module's hooks. The same holds for a reference for which
// known_end() knows a call.
struct CutChoice {
    std::size_t step = 0;
    bool frees = false;
    CutRank rank = CutRank::never;
};

// True if known_end() knows a call that removes step `at`, the attribute or its item.
bool has_known_end(const std::vector<Step>& steps, std::size_t at) {
    const bool is_of_attribute = is_item(steps[at]) && !steps[at].in_tuple;
    if (is_of_attribute && at > 0) {
        return !known_end(steps[at - 1].from, steps[at - 1].label, true).empty();
    }
    const bool has_item =
        at + 1 < steps.size() && is_item(steps[at + 1]) && !steps[at + 1].in_tuple;
    return !has_item && !known_end(steps[at].from, steps[at].label, false).empty();
}

// True for a traceback whose frame has been read with `f_locals`, which keeps a copy of the
// variables after traceback.clear_frames().
bool has_copied_variables(const std::vector<Step>& steps, std::size_t at) {
    return is_traceback(steps[at]) && at + 1 < steps.size() &&
           steps[at + 1].label.name == "f_locals" && PyFrame_Check(steps[at + 1].from);
}

CutChoice choose_cut(const std::vector<Step>& steps,
                     const PathText& text,
                     const RawPath& path,
                     const std::vector<model::Reference>& references,
                     bool is_user_root) {
    CutChoice best;
    bool is_best_user = false;
    std::optional<CutChoice> first_hook;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        CutRank rank = rank_of(steps[i], i == 0);
        if ((rank == CutRank::attribute && text.is_stored_outside(i)) ||
            has_copied_variables(steps, i)) {
            rank = CutRank::entry;
        }
        const bool frees = path.frees[steps[i].cut_at];
        if (has_known_end(steps, i)) {
            return {i, frees, CutRank::known_end};
        }
        if (rank == CutRank::hook && !first_hook) {
            first_hook = {i, frees, rank};
        }
        if (rank == CutRank::entry && first_hook) {
            rank = CutRank::hook;
        }
        const bool is_user = is_user_code(steps[i], references[i], is_user_root);
        if (rank != CutRank::never &&
            std::tuple(frees, rank, is_user) >= std::tuple(best.frees, best.rank, is_best_user)) {
            best = {i, frees, rank};
            is_best_user = is_user;
        }
        if (is_of_cached_call(steps[i])) {
            break;  // a program can clear the cache, but not what its keys and results contain
        }
    }
    return first_hook && best.step < first_hook->step ? *first_hook : best;
}

// True for an attribute of the object in a local variable, unless other code has added it: it may
// be a part that the object needs.
bool is_own_attribute(const CutChoice& cut, const std::vector<Step>& steps) {
    return cut.step == 1 && cut.rank == CutRank::attribute &&
           steps.front().label.kind == EdgeKind::local;
}

bool uses_library(const HeapGraph& graph, const RawPath& path) {
    for (std::size_t i = 1; i < path.nodes.size(); ++i) {
        if (graph.library_reference(path.nodes[i - 1], path.nodes[i]) != nullptr) {
            return true;
        }
    }
    return false;
}

void set_cut(model::RetentionPath& path, std::size_t at, bool frees, bool uses_library) {
    path.cut = path.references[at];
    path.cut_frees = frees;
    path.cut->reason = frees          ? "every path to the object contains this reference"
                       : uses_library ? "C++ code may also refer to the object"
                                      : "the object also has other holders";
}

void use_complete_remedy(model::RetentionPath& path) {
    path.cut_frees = true;
    path.cut->reason = "the remedy removes all paths to the object";
}

// Replaces a remedy that leaves another path, and adds to one that changes an object of a thread.
void use_single_action(model::RetentionPath& path, const std::string& action) {
    if (action.empty()) {
        return;
    }
    if (path.cut_frees && path.root.kind == RootKind::local_variable) {
        const bool is_of_object = path.cut->label.starts_with('.');
        path.remedy = is_of_object ? path.remedy.value_or("") + ", or " + action : path.remedy;
        return;
    }
    path.remedy = action;
    if (path.cut && !path.cut_frees) {
        use_complete_remedy(path);
    }
}

}  // namespace

void ContainerLabels::add(PyObject* target,
                          EdgeKind kind,
                          std::string_view name,
                          std::uint32_t index) {
    if (name.empty()) {
        unnamed_.push_back({target, index, kind});
    } else {
        named_.try_emplace(target, Label{kind, std::string(name), index});
    }
}

void ContainerLabels::sort() {
    std::ranges::sort(unnamed_, [](const Unnamed& a, const Unnamed& b) {
        return std::tuple(reinterpret_cast<std::uintptr_t>(a.target), a.index) <
               std::tuple(reinterpret_cast<std::uintptr_t>(b.target), b.index);
    });
}

Label ContainerLabels::find(PyObject* target) const {
    if (const auto named = named_.find(target); named != named_.end()) {
        return named->second;
    }
    const auto at = std::ranges::lower_bound(unnamed_, target, std::less<>(), &Unnamed::target);
    return at != unnamed_.end() && at->target == target ? Label{at->kind, "", at->index} : Label{};
}

ListIndexes::ListIndexes(PyObject* list)
    : list_(list), sorted_(static_cast<std::size_t>(PyList_GET_SIZE(list))) {
    std::iota(sorted_.begin(), sorted_.end(), 0U);
    std::ranges::sort(sorted_, {}, [list](std::uint32_t index) {
        return std::pair(reinterpret_cast<std::uintptr_t>(PyList_GET_ITEM(list, index)), index);
    });
}

Label ListIndexes::find(PyObject* item) const {
    const auto at =
        std::ranges::lower_bound(sorted_, item, std::less<>(), [this](std::uint32_t index) {
            return PyList_GET_ITEM(list_, index);
        });
    return at != sorted_.end() && PyList_GET_ITEM(list_, *at) == item
               ? Label{EdgeKind::index, "", *at}
               : Label{};
}

Label Labels::find(PyObject* holder, PartRole role, PyObject* parent, PyObject* target) {
    constexpr Py_ssize_t kLarge = 32;
    if (PyObject_IS_GC(holder) == 0) {
        return label_of_field(holder, target);
    }
    if (PyList_CheckExact(holder) && role == PartRole::none && PyList_GET_SIZE(holder) > kLarge) {
        return lists_.try_emplace(holder, holder).first->second.find(target);
    }
    const auto known = known_.find({holder, role});
    if (known != known_.end()) {
        return known->second.find(target);
    }
    LabelOf sink(target, keys_);
    capture::label_references(holder, role, parent, sink);
    if (std::cmp_greater(sink.count(), kLarge)) {
        ContainerLabels& labels = known_[{holder, role}];
        labels.reserve(PyDict_Check(holder) ? 0 : sink.count());
        LabelOf all(nullptr, keys_, &labels);
        capture::label_references(holder, role, parent, all);
        labels.sort();
    }
    return sink.take();
}

model::RetentionPath describe(const HeapGraph& graph,
                              const Roots& roots,
                              const RawPath& path,
                              Labels& labels,
                              bool is_small_view) {
    const Root* const root = path.root == kAnonymous ? nullptr : &roots.all()[path.root];
    const std::vector<Step> steps = Folding(graph, root, path, labels).steps();
    const PathText text(graph, roots, root, path, steps, is_small_view);
    model::RetentionPath result;
    result.root = text.root();
    result.references = text.references();
    result.text = text.folded();
    const CutChoice cut =
        choose_cut(steps, text, path, result.references, root != nullptr && root->is_user_code);
    if (cut.rank != CutRank::never) {
        set_cut(result, cut.step, cut.frees, uses_library(graph, path));
        result.cut->holder_path = text.holder_of(cut.step);
        if (std::string remedy = text.remedy_for(cut.step, Number::one); !remedy.empty()) {
            result.remedy = std::move(remedy);
            result.group_remedy = text.remedy_for(cut.step, Number::several);
        }
    }
    const bool is_hook = cut.rank == CutRank::hook && !cut.frees;
    const bool is_end = cut.rank == CutRank::known_end && !cut.frees && cut.step > 0;
    if ((is_hook && hooks_hold_all(graph, roots, path)) ||
        (is_end && owner_holds_all(graph, roots, path, steps[cut.step - 1].from))) {
        use_complete_remedy(result);
    }
    if (const std::string remedy = text.removal_from_registry();
        cut.rank == CutRank::never && !remedy.empty()) {
        set_cut(result, 0, path.frees[steps.front().cut_at], uses_library(graph, path));
        result.remedy = remedy;
    }
    if (cut.frees && path.frees.front() && result.root.is_unread && is_own_attribute(cut, steps)) {
        result.remedy = result.remedy.value_or("") + ", or delete the variable `" +
                        base::clean_text(steps.front().label.name) +
                        "`, which its function does not read again";
    }
    use_single_action(
        result,
        single_action(
            graph, roots, path, text.end_of_thread(settable_variables(graph, roots, path))));
    return result;
}

void append(model::RetentionPath& path,
            std::string_view label,
            std::string_view target,
            bool frees) {
    model::Reference reference;
    reference.holder = path.references.empty() ? path.root.text : path.references.back().target;
    reference.label = label;
    reference.target = target;
    path.references.push_back(std::move(reference));
    if (path.text.find(" -> ") == std::string::npos) {
        const std::size_t name = path.text.find_last_of(" .") + 1;
        path.text += " -> " + path.text.substr(name);
    }
    path.text += label;
    set_cut(path, path.references.size() - 1, frees, true);
    path.remedy =
        "delete `" + path.text.substr(path.text.rfind(" -> ") + 4) + "` or set it to None";
}

}  // namespace cyclewatch::retention
