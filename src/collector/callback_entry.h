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

    // On our turn, as the collector calls what it comes to in the list: has us called once more,
    // after everyone who stands there now. False if nobody stands after us; or if there is no end
    // to it, as somebody else does the same.
    [[nodiscard]] bool take_another_turn() noexcept;
    // On our last turn: takes out what take_another_turn() appended, and the entry itself unless it
    // `stays`. Where somebody stands after us after all nothing is, as the collector would leave
    // the next one out.
    void give_back_turns(bool stays) noexcept;

  private:
    [[nodiscard]] Py_ssize_t last_position() const noexcept;
    [[nodiscard]] Py_ssize_t times_in_list() const noexcept;
    [[nodiscard]] bool is_last() const noexcept;
    [[nodiscard]] bool is_at(Py_ssize_t position) const noexcept;
    void take_out_down_to(Py_ssize_t times) noexcept;

    python::OwnedRef list_;
    python::OwnedRef function_;
    int more_turns_ = 0;
};

}  // namespace cyclewatch::collector
