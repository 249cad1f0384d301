// SPDX-License-Identifier: Apache-2.0
// Tests the ride-along strategy (gc_hook.h) on garbage that the test creates. Used on CPython
// versions that are unknown to this build.
#pragma once

#include <vector>

#include "collector/collection_listener.h"

namespace cyclewatch::collector {

class SelfTest final : public CollectionListener {
  public:
    // Runs two young collections. The first frees existing garbage, and the second must find the
    // garbage created by the test. Returns true if the second collection finds exactly the test's
    // objects unreachable and gc.collect() returns their number. Does not leave a Python error.
    // REQUIRES: GIL held, and this object is installed as the hook's listener. RUNS PYTHON:
    // gc.collect(0), and therefore the finalizers of the program's young garbage.
    [[nodiscard]] bool run() noexcept;

    void on_start(int /*generation*/) noexcept override { seen_.clear(); }
    void on_unreachable(const UnreachableSet& unreachable) noexcept override;
    void on_stop(const CollectionOutcome& outcome) noexcept override { miss_ = outcome.miss; }

  private:
    bool collect_known_garbage();
    std::vector<PyObject*> seen_;  // compared, never dereferenced
    Miss miss_ = Miss::none;
};

}  // namespace cyclewatch::collector
