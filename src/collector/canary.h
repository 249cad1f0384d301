// SPDX-License-Identifier: Apache-2.0
// A permanent object that is referenced only by itself. It is tracked only while a collection runs,
// so the collector finds it unreachable along with the program's garbage. The collector then calls
// the callback of our weak reference to the canary. At that point, all unreachable objects are
// intact and no finalizer has run. See docs/design/collector.md.
//
// REQUIRES (everything here): GIL held.
#pragma once

#include <Python.h>

#include "python/references.h"

namespace cyclewatch::collector {

class Canary {
  public:
    // Called when the collector finds the canary unreachable. Must not run Python.
    using Callback = void (*)(PyObject* canary) noexcept;

    // Returns false with a Python error set if the canary cannot be created.
    bool create(Callback callback);

    // Call this in the "start" callback. Tracks the canary and creates the weak reference. If other
    // code holds a reference to the canary, creates a new canary first. Returns false if out of
    // memory; in that case, no object is tracked and no Python error is set.
    bool arm() noexcept;

    // True if other code holds a reference to the canary, for example because it called
    // gc.get_objects(). The collector then considers the canary reachable.
    [[nodiscard]] bool is_held() const noexcept;

    // Call this at the end of `callback`. Removes the canary from the unreachable list, so that the
    // collector does not count the canary.
    void leave_list() noexcept;

    // Call this in the "stop" callback. Drops the weak reference, and untracks the canary if it is
    // still tracked.
    void disarm() noexcept;

  private:
    // Returns false with a Python error set if out of memory.
    bool make_object() noexcept;

    PyObject* object_ = nullptr;  // never freed: the canary owns its only reference
    python::OwnedRef callback_;
    python::OwnedRef weakref_;
};

}  // namespace cyclewatch::collector
