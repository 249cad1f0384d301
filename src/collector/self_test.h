// SPDX-License-Identifier: Apache-2.0
// Proves the whole ride-along once, on garbage we know, where the interpreter is not one this
// build was written against.
#pragma once

#include <vector>

#include "collector/collection_listener.h"

namespace cyclewatch::collector {

class SelfTest final : public CollectionListener {
  public:
    // Two young collections: one to clear the table, one over known garbage. True if the second
    // found exactly that garbage unreachable and gc.collect() counted exactly it; leaves no Python
    // error. REQUIRES: GIL held, this object installed as the hook's listener. RUNS PYTHON:
    // gc.collect(0) twice, and with it the finalizers of the program's own young garbage.
    [[nodiscard]] bool run() noexcept;

    void on_start(int /*generation*/) noexcept override { seen_.clear(); }
    void on_unreachable(const UnreachableSet& unreachable) noexcept override;
    void on_stop(Miss miss) noexcept override { miss_ = miss; }

  private:
    bool collect_known_garbage();
    std::vector<PyObject*> seen_;  // addresses to compare, never followed
    Miss miss_ = Miss::none;
};

}  // namespace cyclewatch::collector
