// SPDX-License-Identifier: Apache-2.0
// Exceptions in a thread that may not have thrown any, where memory may have run out.
#pragma once

namespace cyclewatch::base {

// What a thread needs to throw lies in memory that the loader gets when it is first used, and for
// want of which it ends the process. After this it is there, for as long as the thread lives. False
// if there is none to be had: what may throw must not be done then. Any thread; a fraction of a
// microsecond.
[[nodiscard]] bool ready_to_throw() noexcept;

}  // namespace cyclewatch::base
