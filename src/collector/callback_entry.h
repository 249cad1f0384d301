// SPDX-License-Identifier: Apache-2.0
// Our entry in gc.callbacks, a list that the program, and every tool in it, may change as it likes.
//
// REQUIRES (everything here): GIL held. RUNS PYTHON: never. Nothing here leaves a Python error.
#pragma once

#include <Python.h>

#include "python/references.h"

namespace cyclewatch::collector {

class CallbackEntry {
  public:
    // `list` is gc.callbacks. False if one of the two is not what it must be.
    bool create(python::OwnedRef list, python::OwnedRef function);

    [[nodiscard]] bool in_place() const noexcept;
    // Appends it unless it is in place.
    void put_back() noexcept;
    // Takes it out, however often it stands there.
    void take_out() noexcept;

  private:
    // -1 if it is not in the list.
    [[nodiscard]] Py_ssize_t last_position() const noexcept;

    python::OwnedRef list_;
    python::OwnedRef function_;
};

}  // namespace cyclewatch::collector
