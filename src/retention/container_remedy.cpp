// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <string>

#include "capture/labelers/text.h"
#include "retention/captured_step.h"
#include "retention/known_ends.h"
#include "retention/path_names.h"

namespace cyclewatch::retention {
namespace {

using model::EdgeKind;

// A container that has a method clear().
bool is_clearable(PyObject* object) {
    return object != nullptr &&
           (PyDict_Check(object) || PyList_Check(object) || PySet_Check(object) ||
            capture::has_tp_name(Py_TYPE(object), "collections.deque"));
}

// True for a collection that is not one of Python's own, and that has a method clear().
bool is_other_collection(PyObject* object) {
    const PyMappingMethods* const items =
        object == nullptr ? nullptr : Py_TYPE(object)->tp_as_mapping;
    if (items == nullptr || items->mp_length == nullptr || is_clearable(object)) {
        return false;
    }
    return has_method(Py_TYPE(object), "clear");
}

// True for one of several items of a list, a set, a deque, or a dict whose keys are data.
bool is_one_of_several(const Step& step) {
    return is_item(step) && !step.in_tuple && step.label.kind != EdgeKind::key_value &&
           items_of(step.from) > 1;
}

bool is_entry(const Step& step) {
    return !step.in_tuple && (is_item(step) || step.label.kind == EdgeKind::dict_key);
}

}  // namespace

// " (train.py:12)"; "" if the line is not known.
std::string line_of(const model::Reference& reference) {
    const std::string& location = reference.location;
    return location.find(':') == std::string::npos
               ? ""
               : " (" + location.substr(location.find_last_of("/\\") + 1) + ")";
}

std::string PathText::attribute_of_item(std::size_t item) const {
    if (const auto captured = captured_step(steps_, root_); captured && item <= *captured) {
        return {};
    }
    std::string text;
    for (std::size_t i = item + 1; i < steps_.size(); ++i) {
        const std::string suffix = suffix_at(i);
        if (is_attribute(steps_[i])) {
            const bool is_needed =
                steps_[i].role == model::PartRole::nn_children || is_part_of_optimizer(steps_[i]);
            return is_needed ? "" : text + suffix;
        }
        if (!steps_[i].in_tuple || suffix.empty()) {
            break;
        }
        text += suffix;
    }
    return {};
}

bool PathText::has_several_entries(std::size_t at) const {
    return is_attribute(steps_[at]) && at + 1 < steps_.size() && is_clearable(steps_[at].to) &&
           is_entry(steps_[at + 1]) && !holder_of(at + 1).empty();
}

bool PathText::is_cleared_collection(std::size_t at) const {
    return at + 1 < steps_.size() && is_other_collection(steps_[at].to) &&
           !holder_of(at + 1).empty();
}

// The program may use the container again, so it must not be deleted.
std::string PathText::removal_of_entries(std::size_t at, const std::string& line) const {
    const std::string container = "`" + holder_of(at + 1);
    const std::string entries = PyDict_Check(steps_[at].to) ? "entries" : "items";
    return "remove the " + entries + " of " + container + "` that refer to it" + line +
           " once they are no longer needed, or call " + container + ".clear()` if none is";
}

std::size_t PathText::outermost_item(std::size_t item) const {
    std::size_t outermost = item;
    for (std::size_t i = item; i > 0 && is_item(steps_[i - 1]) && !steps_[i].in_tuple; --i) {
        if (is_one_of_several(steps_[i - 1]) && !named_holder_of(i - 1).empty()) {
            outermost = i - 1;
        }
    }
    return outermost;
}

// Does not choose among the items of a container, because the program may need some of them.
Remedy PathText::removal_of_several(std::size_t at) const {
    const std::string line = line_of(references()[at]);
    std::size_t item = at;
    if (has_several_entries(at)) {
        item = at + 1;
    } else if (is_attribute(steps_[at])) {
        while (item > 0 && (item == at || steps_[item].in_tuple)) {
            --item;
        }
        item = is_item(steps_[item]) && !steps_[item].in_tuple ? item : at;
    }
    const std::size_t outermost = outermost_item(item);
    const std::string holder = named_holder_of(outermost);
    const std::string attribute = attribute_of_item(item);
    if (holder.empty() ||
        !(is_item(steps_[item]) || steps_[item].label.kind == EdgeKind::dict_key)) {
        return removal_of_one(at);
    }
    if (item < at && !attribute.empty()) {
        return {"set `" + attribute + "` of the items of `" + holder +
                    "` that no longer need it to None" + line,
                model::RemedyKind::removal};
    }
    // If the attribute is deleted, a class that tests it for None raises AttributeError.
    return {"remove the items of `" + holder + "` that are no longer needed" +
                (outermost < item ? ", or items of these" : "") +
                (attribute.empty()
                     ? ""
                     : ", or set `" + attribute + "` of those that no longer need it to None") +
                line,
            model::RemedyKind::removal};
}

}  // namespace cyclewatch::retention
