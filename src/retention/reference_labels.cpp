// SPDX-License-Identifier: Apache-2.0
#include "retention/reference_labels.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "capture/edge_labeler.h"
#include "capture/labelers/labelers.h"
#include "compat/getter_fields.h"

namespace cyclewatch::retention {
namespace {

using model::EdgeKind;
using model::PartRole;

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

}  // namespace cyclewatch::retention
