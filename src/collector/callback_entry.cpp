// SPDX-License-Identifier: Apache-2.0
#include "collector/callback_entry.h"

#include <utility>

#include "python/guards.h"
#include "python/stop_the_world.h"

namespace cyclewatch::collector {

bool CallbackEntry::create(python::OwnedRef list, python::OwnedRef function) {
    list_ = std::move(list);
    function_ = std::move(function);
    return list_ && function_ && PyList_Check(list_.get());
}

bool CallbackEntry::in_place() const noexcept {
    return function_ && last_position() >= 0;
}

void CallbackEntry::put_back() noexcept {
    const python::ErrorStash stash;
    python::with_world_stopped([this] {
        if (!in_place()) {
            PyList_Append(list_.get(), function_.get());
        }
    });
}

void CallbackEntry::take_out() noexcept {
    const python::ErrorStash stash;
    python::with_world_stopped([this] {
        for (Py_ssize_t at = last_position(); at >= 0; at = last_position()) {
            PyList_SetSlice(list_.get(), at, at + 1, nullptr);
        }
    });
}

Py_ssize_t CallbackEntry::last_position() const noexcept {
    const python::ErrorStash stash;
    // Where there is no GIL, other threads may be changing the list while we look.
    const auto is_ours_at = [this](Py_ssize_t position) {
        return python::steal(PySequence_GetItem(list_.get(), position)).get() == function_.get();
    };
    Py_ssize_t position = PyList_GET_SIZE(list_.get()) - 1;
    while (position >= 0 && !is_ours_at(position)) {
        --position;
    }
    return position;
}

}  // namespace cyclewatch::collector
