// SPDX-License-Identifier: Apache-2.0
// Learns of exceptions that end the program or a thread: replaces sys.excepthook and
// threading.excepthook by a native function that calls a handler and then the replaced hook. The
// native function needs no memory itself, and skips the handler if none is left. Nothing is
// replaced before the program has begun to import a library whose objects own memory.
//
// REQUIRES (everything here): GIL held.
#pragma once

#include <Python.h>

namespace cyclewatch::watch {

// Sets the function that is called with an exception before the program's own hook is. Null
// restores the replaced hooks. If a hook was installed after ours and calls ours, ours then only
// calls the hook that it replaced. Exceptions that the handler raises are dropped.
void set_failure_handler(PyObject* handler);

// True if install_failure_hooks() would replace a hook, provided that the program has begun
// to import a library that owns memory. RUNS PYTHON: never.
[[nodiscard]] bool can_install_failure_hooks() noexcept;

// Replaces the hooks if there is a handler. If `__excepthook__` of the module is the replaced hook,
// replaces it as well, because programs compare the two (code.InteractiveConsole). Idempotent.
// Leaves no Python error.
void install_failure_hooks() noexcept;

}  // namespace cyclewatch::watch
