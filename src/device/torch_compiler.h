// SPDX-License-Identifier: Apache-2.0
// torch.compile() looks at each Python function that is called from a compiled one, in order to
// compile it too. What we call there between two instructions is none of the program's.
#pragma once

#include "python/references.h"

namespace cyclewatch::device {

// For the scope: nothing that the calling thread runs is compiled, as under
// torch.compiler.disable(). Does nothing where torch's compiler was not imported.
// REQUIRES: GIL held. RUNS PYTHON: never. Leaves the pending error, if any, alone.
class CompilerPause {
  public:
    CompilerPause() noexcept;
    CompilerPause(const CompilerPause&) = delete;
    CompilerPause& operator=(const CompilerPause&) = delete;
    ~CompilerPause();

  private:
    python::OwnedRef set_callback_;  // torch._C._dynamo.eval_frame.set_eval_frame
    python::OwnedRef callback_;      // what compiles; null: there was nothing to pause
};

}  // namespace cyclewatch::device
