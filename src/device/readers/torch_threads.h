// SPDX-License-Identifier: Apache-2.0
// What other threads do with tensors while this thread has the GIL: some functions of torch release
// it. The functions of torch that we call do not.
//
// REQUIRES (everything here): GIL held. RUNS PYTHON: never. Preserves no Python error.
#pragma once

namespace cyclewatch::device {

// True if a function of another thread calls torch's autograd engine, which frees nodes and what
// they keep alive without the GIL, so that graphs must not be read.
[[nodiscard]] bool runs_backward_elsewhere();

// Waits until no other thread executes `tensor.grad = value`. While torch frees the previous
// gradient, it releases the GIL, but the tensor still refers to the gradient. Releases the GIL and
// StateLock while it waits, for about 0.2 s at most.
void wait_for_assigned_gradients();

}  // namespace cyclewatch::device
