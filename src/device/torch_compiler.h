// SPDX-License-Identifier: Apache-2.0
// torch.compile() traces every Python function called from a compiled function, including ours if
// a notification is delivered there.
#pragma once

#include "python/references.h"

namespace cyclewatch::device {

// Disables compilation on the calling thread for a scope, like torch.compiler.disable(). No-op if
// torch's compiler is not imported. REQUIRES: GIL held. RUNS PYTHON: never. Preserves a pending
// error.
class CompilerPause {
  public:
    CompilerPause() noexcept;
    CompilerPause(const CompilerPause&) = delete;
    CompilerPause& operator=(const CompilerPause&) = delete;
    ~CompilerPause();

  private:
    python::OwnedRef set_callback_;  // torch._C._dynamo.eval_frame.set_eval_frame
    python::OwnedRef callback_;      // the previous callback; null if there is nothing to restore
};

}  // namespace cyclewatch::device
