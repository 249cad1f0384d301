// SPDX-License-Identifier: Apache-2.0
#include "retention/named_references.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <utility>

#include "base/source_path.h"
#include "capture/edge_labeler.h"
#include "capture/object_summary.h"
#include "model/edge_label.h"
#include "python/stop_the_world.h"

namespace cyclewatch::retention {
namespace {

class Collector final : public capture::ReferenceSink {
  public:
    [[nodiscard]] bool wants_values() const noexcept override { return true; }
    void add(PyObject* target,
             model::EdgeKind kind,
             std::string_view name,
             std::uint32_t index) override {
        found.push_back({model::label_text(kind, name, index), python::borrow(target)});
    }

    std::vector<NamedReference> found;
};

}  // namespace

std::vector<NamedReference> named_references(PyObject* object) {
    Collector collector;
    python::with_world_stopped(
        [&] { capture::label_references(object, model::PartRole::none, nullptr, collector); });
    PyErr_Clear();  // a type whose tp_traverse raises
    return std::move(collector.found);
}

std::vector<std::string> allocation_stack(PyObject* object) {
    std::vector<std::string> calls;
    std::ranges::transform(
        capture::allocation_stack(object), std::back_inserter(calls), &base::text_of);
    PyErr_Clear();
    return calls;
}

}  // namespace cyclewatch::retention
