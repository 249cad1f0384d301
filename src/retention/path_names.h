// SPDX-License-Identifier: Apache-2.0
// The texts of a path. REQUIRES: GIL held. RUNS PYTHON: never. May throw std::bad_alloc.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/retention.h"
#include "retention/heap_graph.h"
#include "retention/path_search.h"
#include "retention/roots.h"
#include "retention/step.h"

namespace cyclewatch::retention {

// "model.Engine", "function model.Engine.run", "class model.Engine", "module model".
[[nodiscard]] std::string full_name(PyObject* object);

class PathText {
  public:
    // `root`: null for an anonymous root. The arguments must outlive this object.
    PathText(const HeapGraph& graph,
             const Root* root,
             const RawPath& path,
             const std::vector<Step>& steps);

    [[nodiscard]] model::PathRoot root() const;
    [[nodiscard]] std::vector<model::Reference> references() const;
    // "train() local model -> model.layers[3].weight"
    [[nodiscard]] std::string folded() const;

  private:
    // True if the first step is part of the root's text.
    [[nodiscard]] bool is_step_in_root() const;
    [[nodiscard]] std::string root_name() const;
    [[nodiscard]] std::string holder_of_first() const;
    [[nodiscard]] std::string c_code() const;
    [[nodiscard]] std::string first_variable() const;

    const HeapGraph& graph_;
    const Root* root_;
    const RawPath& path_;
    const std::vector<Step>& steps_;
};

}  // namespace cyclewatch::retention
