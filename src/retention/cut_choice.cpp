// SPDX-License-Identifier: Apache-2.0
#include "retention/cut_choice.h"

#include <structmember.h>

#include <optional>
#include <string>
#include <string_view>
#include <tuple>

#include "base/source_path.h"
#include "capture/object_summary.h"
#include "retention/known_ends.h"

namespace cyclewatch::retention {
namespace {

using model::EdgeKind;
using model::PartRole;

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

// True for the traceback of an exception that the program has stored, other than in a variable.
bool is_traceback_of_stored(const std::vector<Step>& steps, const PathText& text, std::size_t at) {
    return is_traceback(steps[at]) && at > 0 && steps[at - 1].label.kind != EdgeKind::local &&
           !text.is_private_to_library(at - 1) && !text.is_handled(at);
}

// True if the type or one of its bases has a C attribute with this name.
bool has_c_attribute(const PyTypeObject* type, std::string_view name) {
    for (; type != nullptr; type = type->tp_base) {
        for (const PyGetSetDef* each = type->tp_getset; each != nullptr && each->name != nullptr;
             ++each) {
            if (each->name == name) {
                return true;
            }
        }
        for (const PyMemberDef* each = type->tp_members; each != nullptr && each->name != nullptr;
             ++each) {
            if (each->name == name) {
                return true;
            }
        }
    }
    return false;
}

// True for an item of a container that only C code can reach, such as the list of an
// itertools.cycle.
bool is_item_of_c_code(const std::vector<Step>& steps, std::size_t at) {
    if (at == 0 || !is_item(steps[at]) || steps[at - 1].from == nullptr) {
        return false;
    }
    const Step& container = steps[at - 1];
    return container.label.kind == EdgeKind::field ||
           (container.label.kind == EdgeKind::member && !is_of_cached_call(container) &&
            !has_c_attribute(Py_TYPE(container.from), container.label.name));
}

}  // namespace

CutChoice choose_cut(const std::vector<Step>& steps,
                     const PathText& text,
                     const RawPath& path,
                     const std::vector<model::Reference>& references,
                     const CutLimits& limits,
                     bool is_user_root) {
    CutChoice best;
    bool is_best_user = false;
    std::optional<CutChoice> first_hook;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        CutRank rank = rank_of(steps[i], i == 0);
        if ((rank == CutRank::attribute && text.is_stored_outside(i)) ||
            has_copied_variables(steps, i)) {
            rank = CutRank::entry;
        } else if (rank == CutRank::attribute && text.is_private_to_library(i)) {
            rank = CutRank::part;
        }
        if (is_traceback_of_stored(steps, text, i)) {
            rank = CutRank::traceback;
        }
        if (is_item_of_c_code(steps, i)) {
            rank = CutRank::never;
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
        if (limits.keeps_parts && steps[i].role == PartRole::nn_children &&
            rank == CutRank::named_entry) {
            rank = CutRank::part;
        }
        if (limits.keeps_parts && is_part_of_optimizer(steps[i]) && best.rank == CutRank::entry &&
            items_of(steps[best.step].from) > 1) {
            break;  // the optimizer is one of several
        }
        if (limits.captured && i > *limits.captured && !is_traceback(steps[i]) &&
            rank != CutRank::hook && !(rank >= CutRank::named_entry && text.is_collected(i))) {
            rank = CutRank::never;
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

bool is_own_attribute(const CutChoice& cut, const std::vector<Step>& steps) {
    return cut.step == 1 && cut.rank == CutRank::attribute &&
           steps.front().label.kind == EdgeKind::local;
}

}  // namespace cyclewatch::retention
