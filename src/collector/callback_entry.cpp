// SPDX-License-Identifier: Apache-2.0
#include "collector/callback_entry.h"

#include <utility>

#include "python/guards.h"
#include "python/others_stopped.h"

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
    python::with_others_stopped([this] {
        if (!in_place()) {
            PyList_Append(list_.get(), function_.get());
        }
    });
}

void CallbackEntry::take_out() noexcept {
    more_turns_ = 0;
    const python::ErrorStash stash;
    python::with_others_stopped([this] { take_out_down_to(0); });
}

bool CallbackEntry::take_another_turn() noexcept {
    constexpr int kMostTurns = 8;
    const python::ErrorStash stash;
    bool taken = false;
    python::with_others_stopped([&] {
        taken = more_turns_ < kMostTurns && !is_last() &&
                PyList_Append(list_.get(), function_.get()) == 0;
    });
    more_turns_ += taken ? 1 : 0;
    return taken;
}

void CallbackEntry::give_back_turns(bool stays) noexcept {
    const int turns = std::exchange(more_turns_, 0);
    if (turns == 0 && stays) {
        return;
    }
    const python::ErrorStash stash;
    python::with_others_stopped([&] {
        if (is_last()) {
            const Py_ssize_t without_turns = times_in_list() - turns;
            take_out_down_to(stays ? (without_turns > 1 ? without_turns : 1) : 0);
        }
    });
}

// Where there is no GIL, other threads may be changing the list while we look.
bool CallbackEntry::is_at(Py_ssize_t position) const noexcept {
    return python::steal(PySequence_GetItem(list_.get(), position)).get() == function_.get();
}

bool CallbackEntry::is_last() const noexcept {
    const python::ErrorStash stash;
    return is_at(PyList_GET_SIZE(list_.get()) - 1);
}

Py_ssize_t CallbackEntry::last_position() const noexcept {
    const python::ErrorStash stash;
    Py_ssize_t position = PyList_GET_SIZE(list_.get()) - 1;
    while (position >= 0 && !is_at(position)) {
        --position;
    }
    return position;
}

Py_ssize_t CallbackEntry::times_in_list() const noexcept {
    const python::ErrorStash stash;
    Py_ssize_t times = 0;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list_.get()); ++i) {
        times += is_at(i) ? 1 : 0;
    }
    return times;
}

void CallbackEntry::take_out_down_to(Py_ssize_t times) noexcept {
    for (Py_ssize_t left = times_in_list(); left > times; --left) {
        const Py_ssize_t position = last_position();
        PyList_SetSlice(list_.get(), position, position + 1, nullptr);
    }
}

}  // namespace cyclewatch::collector
