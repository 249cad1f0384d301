// SPDX-License-Identifier: Apache-2.0
#include "retention/parts.h"

#include <string_view>

#include "capture/edge_labeler.h"
#include "capture/labelers/text.h"

namespace cyclewatch::retention {
namespace {

using model::PartRole;

class RoleOf final : public capture::PartSink {
  public:
    explicit RoleOf(PyObject* part) : part_(part) {}
    void add(PyObject* part, PartRole role) override {
        if (part == part_) {
            role_ = role;
        }
    }
    [[nodiscard]] PartRole role() const noexcept { return role_; }

  private:
    PyObject* part_;
    PartRole role_ = PartRole::none;
};

bool is_thread_local(PyObject* object) noexcept {
    return capture::base_named(Py_TYPE(object), "_thread._local") != nullptr;
}

}  // namespace

bool is_function_or_partial(PyObject* object) noexcept {
    return PyFunction_Check(object) || PyMethod_Check(object) ||
           capture::base_named(Py_TYPE(object), "functools.partial") != nullptr;
}

bool is_hamt_node(PyObject* object) noexcept {
    return std::string_view(Py_TYPE(object)->tp_name).starts_with("hamt");
}

bool is_lru_cache(PyObject* object) noexcept {
    return capture::base_named(Py_TYPE(object), "functools._lru_cache_wrapper") != nullptr;
}

PartRole role_in(PyObject* holder, PyObject* from, PartRole role, PyObject* part) noexcept {
    RoleOf sink(part);
    capture::find_parts(holder, sink);
    if (sink.role() != PartRole::none) {
        return sink.role();
    }
    const bool is_dict = PyDict_CheckExact(part) != 0;
    if (is_hamt_node(part) || (is_dict && from == holder && is_lru_cache(holder))) {
        return PartRole::storage;
    }
    if (!is_dict || !is_thread_local(holder)) {
        return PartRole::none;
    }
    if (from == holder) {
        return PartRole::storage;
    }
    return role == PartRole::storage ? PartRole::instance_dict : PartRole::none;
}

bool is_skipped(PyObject* object) noexcept {
    return PyCell_Check(object) || PyTraceBack_Check(object);
}

bool is_folded(PyObject* holder, PyObject* target) noexcept {
    if (is_skipped(target)) {
        return true;
    }
    const bool may_be_part =
        PyDict_Check(target) || PyTuple_CheckExact(target) || is_hamt_node(target);
    return may_be_part && role_in(holder, holder, PartRole::none, target) != PartRole::none;
}

}  // namespace cyclewatch::retention
