// SPDX-License-Identifier: Apache-2.0
// One permanent object whose single reference is to itself. Tracked only while a collection
// runs, it is unreachable together with the program's garbage, and the weakref callback that the
// collector then makes is our moment: every unreachable object is still intact, no finalizer has
// run. docs/design/collector.md tells the whole story.
//
// REQUIRES (everything here): GIL held.
#pragma once

#include <Python.h>

#include "python/references.h"

namespace cyclewatch::collector {

class Canary {
  public:
    // What to do when the collector finds the canary unreachable. RUNS PYTHON: never.
    using Callback = void (*)(PyObject* canary) noexcept;

    // False with a Python error set if the interpreter refuses.
    bool create(Callback callback);

    // At "start": tracks the canary and makes the weakref. Where somebody holds the canary, a new
    // one takes its place. False if that or the weakref could not be made; then nothing is tracked
    // and no Python error is left.
    bool arm() noexcept;

    // Whether somebody who met the canary in gc.get_objects() keeps it: it is no garbage then.
    [[nodiscard]] bool is_held() const noexcept;

    // Inside the callback, as its last act: takes the canary out of the unreachable list, so that
    // the collector never counts it.
    void leave_list() noexcept;

    // At "stop": drops the weakref; untracks the canary if the collection never swept.
    void disarm() noexcept;

    [[nodiscard]] bool armed() const noexcept { return static_cast<bool>(weakref_); }
    [[nodiscard]] PyObject* object() const noexcept { return object_; }

  private:
    // False with a Python error set without memory.
    bool make_object() noexcept;

    PyObject* object_ = nullptr;  // immortal by design: it holds its own only reference
    python::OwnedRef callback_;
    python::OwnedRef weakref_;
};

}  // namespace cyclewatch::collector
